// The dot score (arXiv 1508.04025, 3.1): score(h_t, h_s) = h_tᵀ h_s. The memory must have the width of the decoder's
// states.
//
//   h_t = (1 2), h_s = (1 0), (0 1):  energies 1, 2, weights 0.27, 0.73
#pragma once

#include "models/attention/score.hpp"

namespace attend {

class DotScore : public Score {
 public:
  torch::Tensor prepare(const torch::Tensor& memory_SW) const override { return memory_SW; }
  torch::Tensor energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA,
                         const Places& /*places*/) const override {
    return torch::matmul(queries_TH.to(torch::kFloat), keys_SA.transpose(-2, -1));
  }
  bool describe(ops::AttentionForm& /*form*/) const override { return true; }
  std::optional<ops::HeadEnergy> head_energy() const override {
    return ops::HeadEnergy{ops::HeadEnergy::Kind::product};
  }
};

}  // namespace attend
