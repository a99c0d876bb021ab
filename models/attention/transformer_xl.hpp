// The relative positions of Transformer-XL (Dai et al. 2019, arXiv 1901.02860, section 3.3): the energy of query i at
// position j is the sum of two products, one with the token at j, the other with the sinusoids R of the distance,
// projected for each head:
//
//   e_ij = ((W_q x_i + u)ᵀ W_kE x_j + (W_q x_i + v)ᵀ W_kR R_(i-j)) / sqrt(D)
//
// u is the bias of the projection of queries, which they already contain; so this scope adds v - u, which it learns in
// place of v. Each layer has its own u, v and W_kR; the paper's layers share u and v.
//
// The matrix product with fewer multiplications comes first: W_kR R, or with few queries, as in a step of decoding,
// (W_q x_i + v)ᵀ W_kR.
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
#include "models/layers/row_table.hpp"

namespace attend {

class TransformerXlScope : public Scope {
 public:
  // `scope` has no parameters; `width`: D; `columns`: H, the width of the sinusoids.
  TransformerXlScope(std::shared_ptr<Scope> scope, std::int64_t heads, std::int64_t width, std::int64_t columns,
                     bool causal)
      : scope_(register_module("within", std::move(scope))),
        sinusoids_(register_module("sinusoids", RowTable([columns](std::int64_t first, std::int64_t length) {
                                     return sinusoids(1 - first - length, length, columns).flip(0);
                                   }))),
        causal_(causal),
        positions_(register_parameter("positions", torch::empty({heads, width, columns}))),
        bias_(register_parameter("bias", torch::empty({heads, 1, width}))) {}

  // The bias is [..., N, T, S].
  Window window(const torch::Tensor& queries_TH, const Places& places) const override {
    Window result = scope_->window(queries_TH, places);
    const std::int64_t longest = places.padding_1S.size(-1), ahead = causal_ ? 0 : longest - 1;
    const torch::Tensor energies_TC = energies(queries_TH, longest, longest + ahead);
    std::vector<std::int64_t> sizes = queries_TH.sizes().vec();
    sizes.back() = longest;
    const torch::Tensor columns_TS = places.distances_TS(queries_TH.size(-2)) + (longest - 1);
    result.add_bias(energies_TC.gather(-1, columns_TS.clamp_max(longest - 1 + ahead).expand(sizes)));
    return result;
  }

  // For the newest query.
  bool describe_heads(ops::HeadsForm& form) const override {
    if (!form.newest_RH.defined() || !scope_->describe_heads(form)) return false;
    const torch::Tensor queries_RN1D = form.newest_RH.to(torch::kFloat).unflatten(1, {bias_.size(0), 1, -1});
    form.biases_RNL = energies(queries_RN1D, form.longest, form.longest).squeeze(2);
    return true;
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
  // The second product of the equation for queries [..., N, T, D] at `count` distances j - i, 1 - longest and up:
  // [..., N, T, C].
  torch::Tensor energies(const torch::Tensor& queries_TD, std::int64_t longest, std::int64_t count) const {
    const torch::Tensor distances_HC = sinusoids_->rows(1 - longest, count).t();
    const torch::Tensor by_heads_TD = queries_TD.movedim(-3, 0);
    const double scale = 1 / std::sqrt(static_cast<double>(bias_.size(2)));
    const torch::Tensor asked_NQD = (by_heads_TD.flatten(1, -2) + bias_) * scale;
    const std::int64_t Q = asked_NQD.size(1), D = positions_.size(1), H = positions_.size(2), C = count;
    const torch::Tensor energies_NQC = Q * H * (D + C) < C * D * (H + Q)
                                           ? asked_NQD.matmul(positions_).matmul(distances_HC)
                                           : asked_NQD.matmul(positions_.matmul(distances_HC));
    std::vector<std::int64_t> sizes = by_heads_TD.sizes().vec();
    sizes.back() = count;
    return energies_NQC.view(sizes).movedim(0, -3);
  }

  std::shared_ptr<Scope> scope_;
  RowTable sinusoids_;
  bool causal_;
  torch::Tensor positions_;  // W_kR, [N, D, H]
  torch::Tensor bias_;       // v - u, [N, 1, D]
};

}  // namespace attend
