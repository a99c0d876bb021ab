// Biases by distance: a scope around another one that adds b[h][j - i] to the energy of query i at position j in head
// h. A subclass gives the biases of a list of distances; scopes around each other add theirs.
#pragma once

#include <memory>
#include <utility>

#include "models/attention/scope.hpp"
#include "models/ops/padded.hpp"

namespace attend {

class DistanceScope : public Scope {
 public:
  explicit DistanceScope(std::shared_ptr<Scope> scope) : scope_(register_module("within", std::move(scope))) {}

  // The biases of the distances, which are int64 and on the CPU: [N, D], or [1, D] if they are the same for all heads;
  // fp32, of distance 0 finite. Learnt ones are where the parameters are, others on the CPU.
  virtual torch::Tensor biases_ND(const torch::Tensor& distances_D) const = 0;

  // The bias is [..., N, T, S].
  Window window(const torch::Tensor& queries_TH, const Places& places) const override {
    Window result = scope_->window(queries_TH, places);
    const std::int64_t longest = places.padding_1S.size(-1);
    const torch::Tensor biases_ND = all_ND(longest).to(queries_TH.device());
    const torch::Tensor columns_TS = places.distances_TS(queries_TH.size(-2)) + (longest - 1);
    const torch::Tensor bias_TS = ops::numbers_of_heads(biases_ND, columns_TS);
    result.bias_TS = result.bias_TS.defined() ? result.bias_TS + bias_TS : bias_TS;
    return result;
  }

  // There are fused ops on the CPU alone, where all biases are then.
  bool describe_heads(ops::HeadsForm& form) const override {
    if (!scope_->describe_heads(form)) return false;
    const torch::Tensor biases_ND = all_ND(form.longest);
    form.biases_ND = form.biases_ND.defined() ? form.biases_ND + biases_ND : biases_ND;
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
