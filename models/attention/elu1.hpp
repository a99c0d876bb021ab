// The kernel of linear attention (Katharopoulos et al. 2020, arXiv 2006.16236, eq. 7) as a score: weights are
// proportional to φ(h_t)ᵀ φ(W h_s), φ(x) = elu(x) + 1 > 0, whose logarithm is the energy. The keys are φ(W h_s).
//
//   h_t = (1 0), W h_s = (1 0), (0 1):  φ(h_t) = (2 1), products 5, 4, energies 1.61, 1.39, weights 0.56, 0.44
#pragma once

#include <limits>

#include "models/attention/score.hpp"

namespace attend {

class Elu1Score : public Score {
 public:
  explicit Elu1Score(const ScoreWidths& config)
      : key_(register_module("key", HeadLinear(config.heads, config.memory_width, config.query_width))) {}

  // φ(W h_s) in fp32: bf16 would lose small features.
  torch::Tensor prepare(const torch::Tensor& memory_SW) const override { return phi(key_->forward(memory_SW)); }
  torch::Tensor energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA,
                         const Places& /*places*/) const override {
    const torch::Tensor products_TS = torch::matmul(phi(queries_TH), keys_SA.transpose(-2, -1));
    return torch::log(products_TS.clamp_min(std::numeric_limits<float>::min()));  // padding has no features
  }

 private:
  static torch::Tensor phi(const torch::Tensor& x) { return torch::elu(x.to(torch::kFloat)) + 1; }

  HeadLinear key_;  // W
};

}  // namespace attend
