// Cosines with a learnt scale (Henry et al. 2020, arXiv 2010.04245): score(q, k) = g qᵀ k / (‖q‖ ‖k‖), so that
// energies lie within ±g whatever the vectors' lengths. Every head has its own g. As in the paper, g starts at
// log2(L² - L), where L is a length that few training sentences exceed; here L = 32, so g = 9.95. Queries and memory
// must have the same width.
//
//   q = (3 4), k = (1 0), (0 2), g = 10:  cosines 0.6, 0.8, energies 6, 8, weights 0.12, 0.88
#pragma once

#include <cmath>

#include "models/attention/score.hpp"

namespace attend {

class CosineScore : public Score {
 public:
  explicit CosineScore(const ScoreWidths& config) : scale_(register_parameter("scale", torch::empty({config.heads}))) {}

  torch::Tensor prepare(const torch::Tensor& memory_SW) const override { return directions(memory_SW); }

  torch::Tensor energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA,
                         const Places& /*places*/) const override {
    return factor_of_heads(scale_) * torch::matmul(directions(queries_TH), keys_SA.transpose(-2, -1));
  }

  bool keeps_prepared_keys() const override { return true; }
  torch::Tensor fused_queries(const torch::Tensor& queries_MH) const override {
    return by_heads(queries_MH, scale_.size(0), [&](const torch::Tensor& queries_NMA) {
      return scale_.view({-1, 1, 1}) * directions(queries_NMA);
    });
  }
  std::optional<ops::HeadEnergy> head_energy() const override {
    return ops::HeadEnergy{ops::HeadEnergy::Kind::product};
  }
  torch::Tensor scale(const torch::Tensor& /*keys_SA*/) const override { return scale_; }
  void initialise(RandomStream& /*random*/) override {
    const torch::NoGradGuard no_grad;
    scale_.fill_(std::log2(32.0 * 32 - 32));
  }

 private:
  // Vectors of length 1; 0 stays 0.
  static torch::Tensor directions(const torch::Tensor& x) {
    const torch::Tensor values = x.to(torch::kFloat);
    return values / values.norm(2, -1, /*keepdim=*/true).clamp_min(1e-6);
  }

  torch::Tensor scale_;  // g, [N]
};

}  // namespace attend
