// Local self-attention: each query attends to positions within D of its own (Beltagy et al. 2020, arXiv 2004.05150,
// section 3.1; Luong et al. 2015, arXiv 1508.04025, section 3.2): b = 0 up to the distance D, -infinity beyond.
//
//   D = 1, four words:  the third sees the second to the fourth; in a causal decoder the second and itself
#pragma once

#include <limits>
#include <memory>
#include <utility>

#include "models/attention/by_distance.hpp"

namespace attend {

class SelfWindowScope : public DistanceScope {
 public:
  SelfWindowScope(std::shared_ptr<Scope> scope, std::int64_t half_width)
      : DistanceScope(std::move(scope)), half_width_(half_width) {}

  torch::Tensor rows_of(const torch::Tensor& distances_D) const override {
    const torch::Tensor outside_D1 = distances_D.abs().gt(half_width_).unsqueeze(1);
    return torch::zeros(outside_D1.sizes()).masked_fill_(outside_D1, -std::numeric_limits<float>::infinity());
  }

 private:
  std::int64_t half_width_;  // D
};

}  // namespace attend
