// The kernel of linear attention (Katharopoulos et al. 2020, arXiv 2006.16236, eq. 7) as a score: weights are
// proportional to φ(h_t)ᵀ φ(W h_s), φ(x) = elu(x) + 1 > 0, whose logarithm is the energy. The keys are φ(W h_s).
//
//   h_t = (1 0), W h_s = (1 0), (0 1):  φ(h_t) = (2 1), products 5, 4, energies 1.61, 1.39, weights 0.56, 0.44
#pragma once

#include <cstdint>

#include "models/attention/score.hpp"

namespace attend {

class Elu1Score : public Score {
 public:
  Elu1Score(std::int64_t query_width, std::int64_t memory_width)
      : key_(register_module("key", Linear(LinearConfig{.in = memory_width, .out = query_width, .bias = false}))) {}

  // φ(W h_s) in fp32: bf16 would lose small features.
  torch::Tensor prepare(const torch::Tensor& memory_SW) const override;
  torch::Tensor energies(const torch::Tensor& query_RH, const torch::Tensor& keys_RSA) const override;

 private:
  Linear key_;  // W
};

}  // namespace attend
