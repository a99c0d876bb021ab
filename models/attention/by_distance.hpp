// Biases by distance: a scope around another one that adds b[h][j - i] to the energy of query i at position j in head
// h. Subclasses define b; the biases of nested scopes are added.
//
// Legend: docs/architecture.md; D distances.
#pragma once

#include <memory>
#include <utility>

#include "models/attention/scope.hpp"
#include "models/layers/row_table.hpp"
#include "models/ops/padded.hpp"

namespace attend {

class DistanceScope : public Scope {
 public:
  explicit DistanceScope(std::shared_ptr<Scope> scope)
      : scope_(register_module("within", std::move(scope))),
        rows_(register_module("distances", RowTable([this](std::int64_t first, std::int64_t length) {
                                return rows_of(torch::arange(first, first + length, torch::kLong));
                              }))) {}

  // The rows of distances (int64, on the CPU) that are computed once, independent of parameters.
  virtual torch::Tensor rows_of(const torch::Tensor& distances_D) const = 0;
  // The biases of distances with the given rows: fp32, [D, N], or [D, 1] if all heads have the same. That of distance 0
  // is finite.
  virtual torch::Tensor biases_DN(const torch::Tensor& rows_D) const { return rows_D; }

  // The bias is [..., N, T, S].
  Window window(const torch::Tensor& queries_TH, const Places& places) const override {
    Window result = scope_->window(queries_TH, places);
    const std::int64_t longest = places.padding_1S.size(-1);
    const torch::Tensor columns_TS = places.distances_TS(queries_TH.size(-2)) + (longest - 1);
    result.add_bias(ops::numbers_of_heads(all_ND(longest), columns_TS));
    return result;
  }

  bool describe_heads(ops::HeadsForm& form) const override {
    if (!scope_->describe_heads(form)) return false;
    form.add_biases(all_ND(form.longest));
    return true;
  }

 private:
  // Of the distances -(longest - 1) … longest - 1.
  torch::Tensor all_ND(std::int64_t longest) const { return biases_DN(rows_->rows(1 - longest, 2 * longest - 1)).t(); }

  std::shared_ptr<Scope> scope_;
  RowTable rows_;
};

}  // namespace attend
