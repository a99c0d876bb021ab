// Local attention with predictive alignment (Luong et al. 2015, arXiv 1508.04025, 3.2, local-p): for a source of S
// words, the query predicts the centre p_t = S σ(v_pᵀ tanh(W_p h_t)) (eq. 9) and attends to positions within D of it,
// with weights scaled by a Gaussian, a_t(s) = align(h_t, h_s) exp(-(s - p_t)² / (2 σ²)), σ = D / 2 (eq. 10).
//
//   D = 2, p_t = 1.5, four words:  positions 0 to 3, factors 0.32, 0.88, 0.88, 0.32
#pragma once

#include <cstdint>

#include "models/attention/scope.hpp"

namespace attend {

class LocalPredictiveScope : public Scope {
 public:
  LocalPredictiveScope(std::int64_t query_width, std::int64_t half_width);

  Window window(const torch::Tensor& queries_TH, const Places& places) const override;
  void enter(ops::AttentionForm& form) const override;

 private:
  std::int64_t half_width_;  // D
  Linear inner_;             // W_p
  Linear centre_;            // v_p
};

}  // namespace attend
