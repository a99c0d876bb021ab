// Luong's general score (arXiv 1508.04025, 3.1): score(h_t, h_s) = h_tᵀ W_a h_s. The keys W_a h_s are computed once per
// sentence, so each step needs only dot products. With the identity as W_a it is the dot score.
//
//   h_t = (1 2), h_s = (1 0), (0 1), W_a = (0 1; 1 0):  keys (0 1), (1 0), energies 2, 1, weights 0.73, 0.27
#pragma once

#include "models/attention/dot.hpp"

namespace attend {

class GeneralScore : public DotScore {
 public:
  explicit GeneralScore(const ScoreWidths& config)
      : key_(add_map("key", config, config.memory_width, config.query_width)) {}

  torch::Tensor prepare(const torch::Tensor& memory_SW) const override { return key_->forward(memory_SW); }
  // h_tᵀ (W_a h_s) = (W_aᵀ h_t)ᵀ h_s: a decoder maps the query of a step, not the keys of all previous steps.
  torch::Tensor fused_queries(const torch::Tensor& queries_MH) const override {
    return key_->transposed(queries_MH).to(queries_MH.scalar_type());
  }

 private:
  HeadLinear key_;  // W_a
};

}  // namespace attend
