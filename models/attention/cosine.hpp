// Cosines with a learnt temperature (Henry et al. 2020, arXiv 2010.04245, eq. 4): score(q, k) = g qᵀ k / (‖q‖ ‖k‖), so
// that energies lie within ±g whatever the vectors' lengths. g starts at log2(L² - L) with L = 32, about 10. Queries
// and memory must have the same width.
//
//   q = (3 4), k = (1 0), (0 2), g = 10:  cosines 0.6, 0.8, energies 6, 8, weights 0.12, 0.88
#pragma once

#include <cmath>

#include "models/attention/score.hpp"

namespace attend {

class CosineScore : public Score {
 public:
  explicit CosineScore(const ScoreWidths& config) : scale_(register_parameter("scale", torch::empty({config.heads}))) {}

  // The directions of the keys, fp32.
  torch::Tensor prepare(const torch::Tensor& memory_SW) const override { return direction(memory_SW); }
  torch::Tensor energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA) const override {
    return factor_of_heads(scale_) * torch::matmul(direction(queries_TH), keys_SA.transpose(-2, -1));
  }
  void initialise(RandomStream& /*random*/) override {
    const torch::NoGradGuard no_grad;
    scale_.fill_(std::log2(32.0 * 32 - 32));
  }

 private:
  static torch::Tensor direction(const torch::Tensor& x) {
    const torch::Tensor values = x.to(torch::kFloat);
    return values / values.square().sum(-1, true).clamp_min(1e-12).sqrt();
  }

  torch::Tensor scale_;  // g, [N]
};

}  // namespace attend
