// A Gaussian kernel as a score, which makes attention the kernel regression of Nadaraya (1964) and Watson (1964):
// score(h_t, h_s) = -b ‖h_t - W h_s‖², so that weights are proportional to exp(-b ‖h_t - W h_s‖²). The precision b > 0
// is parameterised by its logarithm; b starts at 1 / sqrt(A), the factor of scaled dot products.
//
//   h_t = (1 0), W h_s = (1 0), (0 1), b = 1:  energies 0, -2, weights 0.88, 0.12
#pragma once

#include <cstdint>

#include "models/attention/score.hpp"

namespace attend {

class RbfScore : public Score {
 public:
  explicit RbfScore(const ScoreWidths& config);

  // W h_s with ‖W h_s‖² as an additional last column; fp32.
  torch::Tensor prepare(const torch::Tensor& memory_SW) const override;
  torch::Tensor energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA) const override;
  void initialise(RandomStream& random) override;

 private:
  HeadLinear key_;               // W
  torch::Tensor log_precision_;  // log b, [N]
};

}  // namespace attend
