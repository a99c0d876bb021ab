// Local attention with predictive alignment (Luong et al. 2015, arXiv 1508.04025, 3.2, local-p): for a source of S
// words, the query predicts the centre p_t = S σ(v_pᵀ tanh(W_p h_t)) (eq. 9). It attends to positions within D of p_t,
// with weights scaled by a Gaussian, a_t(s) = align(h_t, h_s) exp(-(s - p_t)² / (2 σ²)), σ = D / 2 (eq. 10).
//
//   D = 2, p_t = 1.5, four words:  positions 0 to 3, factors 0.32, 0.88, 0.88, 0.32
#pragma once

#include <cstdint>

#include "models/attention/scope.hpp"

namespace attend {

class LocalPredictiveScope : public Scope {
 public:
  LocalPredictiveScope(std::int64_t query_width, std::int64_t half_width)
      : half_width_(half_width),
        inner_(register_module("inner", Linear(LinearConfig{.in = query_width, .out = query_width, .bias = false}))),
        centre_(register_module("centre", Linear(LinearConfig{.in = query_width, .out = 1, .bias = false}))) {}

  Window window(const torch::Tensor& queries_TH, const Places& places) const override {
    const torch::Tensor share_T1 =
        torch::sigmoid(centre_->forward(inner_->forward(queries_TH, ops::Activation::tanh)).to(torch::kFloat));
    const torch::Tensor distances_TS = places.positions_S() - places.lengths_11() * share_T1;
    const double deviation = static_cast<double>(half_width_) / 2;
    return {.outside_TS = places.padding_1S | distances_TS.detach().abs().gt(half_width_),
            .factor_TS = torch::exp(distances_TS.square() / (-2 * deviation * deviation))};
  }
  bool describe(ops::AttentionForm& form) const override {
    form.half_width = half_width_;
    form.inner_HH = &inner_->weight;
    form.centre_1H = &centre_->weight;
    return true;
  }

 private:
  std::int64_t half_width_;  // D
  Linear inner_;             // W_p
  Linear centre_;            // v_p
};

}  // namespace attend
