// Scaled dot products (Vaswani et al. 2017, arXiv 1706.03762, eq. 1) as a score: score(h_t, h_s) = h_tᵀ h_s / sqrt(A),
// so that energies do not grow with the width. The keys include the factor, so a step needs only dot products.
//
//   h_t = (1 2), h_s = (1 0), (0 1):  keys (0.71 0), (0 0.71), energies 0.71, 1.41, weights 0.33, 0.67
#pragma once

#include <cmath>

#include "models/attention/dot.hpp"

namespace attend {

class ScaledDotScore : public DotScore {
 public:
  torch::Tensor prepare(const torch::Tensor& memory_SW) const override {
    return memory_SW / std::sqrt(static_cast<double>(memory_SW.size(-1)));
  }
  torch::Tensor scale(const torch::Tensor& keys_SA) const override {
    return torch::full({1}, 1 / std::sqrt(static_cast<double>(keys_SA.size(-1))));
  }
  std::optional<ops::HeadEnergy> head_energy() const override { return ops::HeadEnergy{}; }
};

}  // namespace attend
