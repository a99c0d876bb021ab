// Biases by distance: a scope around another one that adds b[h][j - i] to the energy of query i at position j in head
// h. Subclasses define b; the biases of nested scopes are added.
//
// Legend: docs/architecture.md; D distances.
#pragma once

#include <memory>
#include <utility>

#include "models/attention/scope.hpp"
#include "models/ops/padded.hpp"

namespace attend {

class DistanceScope : public Scope {
 public:
  explicit DistanceScope(std::shared_ptr<Scope> scope) : scope_(register_module("within", std::move(scope))) {}

  // The biases of distances (int64, on the CPU): fp32, [N, D], or [1, D] if all heads have the same. The bias of
  // distance 0 is finite. Learnt biases are on the device of the parameters, others on the CPU.
  virtual torch::Tensor biases_ND(const torch::Tensor& distances_D) const = 0;

  // The bias is [..., N, T, S].
  Window window(const torch::Tensor& queries_TH, const Places& places) const override {
    Window result = scope_->window(queries_TH, places);
    const std::int64_t longest = places.padding_1S.size(-1);
    const torch::Tensor biases_ND = all_ND(longest).to(queries_TH.device());
    const torch::Tensor columns_TS = places.distances_TS(queries_TH.size(-2)) + (longest - 1);
    result.add_bias(ops::numbers_of_heads(biases_ND, columns_TS));
    return result;
  }

  // Fused ops exist only on the CPU, so no bias has to be moved.
  bool describe_heads(ops::HeadsForm& form) const override {
    if (!scope_->describe_heads(form)) return false;
    form.add_biases(all_ND(form.longest));
    return true;
  }

 private:
  // Of the distances -(longest - 1) … longest - 1.
  torch::Tensor all_ND(std::int64_t longest) const {
    return biases_ND(torch::arange(1 - longest, longest, torch::kLong));
  }

  std::shared_ptr<Scope> scope_;
};

}  // namespace attend
