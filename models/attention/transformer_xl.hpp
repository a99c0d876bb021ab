// The relative positions of Transformer-XL (Dai et al. 2019, arXiv 1901.02860, section 3.3): the energy of query i at
// position j is the sum of two products, one with the token at j, the other with the sinusoids R of the distance,
// projected for each head:
//
//   e_ij = ((W_q x_i + u)ᵀ W_kE x_j + (W_q x_i + v)ᵀ W_kR R_(i-j)) / sqrt(D)
//
// u is the bias of the projection of queries, which they already contain; so this scope adds v - u, which it learns in
// place of v. Each layer has its own u, v and W_kR; the paper's layers share u and v.
//
// Legend: docs/architecture.md; C distances.
#pragma once

#include <torch/types.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "models/attention/scope.hpp"

namespace attend {

class TransformerXlScope : public Scope {
 public:
  // `scope` has no parameters; `width`: D; `columns`: H, the width of the sinusoids.
  TransformerXlScope(std::shared_ptr<Scope> scope, std::int64_t heads, std::int64_t width, std::int64_t columns,
                     bool causal)
      : scope_(std::move(scope)),
        causal_(causal),
        positions_(register_parameter("positions", torch::empty({heads, width, columns}))),
        bias_(register_parameter("bias", torch::empty({heads, 1, width}))) {}

  // The bias is [..., N, T, S].
  Window window(const torch::Tensor& queries_TH, const Places& places) const override {
    Window result = scope_->window(queries_TH, places);
    const std::int64_t longest = places.padding_1S.size(-1), ahead = causal_ ? 0 : longest - 1;
    // i - j = -ahead, -ahead + 1, …
    const torch::Tensor distances_CH = sinusoids(-ahead, ahead + longest, positions_.size(2)).to(queries_TH.device());
    const torch::Tensor keys_NDC = torch::matmul(positions_, distances_CH.t());
    const torch::Tensor energies_TC =
        torch::matmul(queries_TH + bias_, keys_NDC) / std::sqrt(static_cast<double>(bias_.size(2)));
    std::vector<std::int64_t> sizes = queries_TH.sizes().vec();
    sizes.back() = longest;
    const torch::Tensor columns_TS = (ahead - places.distances_TS(queries_TH.size(-2))).clamp_min(0).expand(sizes);
    result.add_bias(energies_TC.gather(-1, columns_TS));
    return result;
  }

  // W_kR by Xavier's rule.
  void initialise(RandomStream& random) override {
    const torch::NoGradGuard no_grad;
    fill_uniform(positions_, std::sqrt(6 / static_cast<double>(positions_.size(1) + positions_.size(2))), random);
    bias_.zero_();
  }
  ParameterRole role_of(const torch::Tensor& parameter) const override {
    return parameter.is_same(bias_) ? ParameterRole::bias : ParameterRole::matrix;
  }

 private:
  std::shared_ptr<Scope> scope_;
  bool causal_;
  torch::Tensor positions_;  // W_kR, [N, D, H]
  torch::Tensor bias_;       // v - u, [N, 1, D]
};

}  // namespace attend
