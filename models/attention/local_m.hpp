// Local attention with monotonic alignment (Luong et al. 2015, arXiv 1508.04025, 3.2, local-m): target position t
// attends to source positions [p - D, p + D] around p = t, or around the last position if the source is shorter.
//
//   D = 1, a source of 4 words:  step 0 attends to 0 1, step 1 to 0 1 2, step 9 to 2 3
#pragma once

#include <cstdint>

#include "models/attention/scope.hpp"

namespace attend {

class LocalMonotonicScope : public Scope {
 public:
  explicit LocalMonotonicScope(std::int64_t half_width) : half_width_(half_width) {}

  Window window(const torch::Tensor& queries_TH, const Places& places) const override {
    const torch::Tensor centres_T1 = places.numbers_T1(queries_TH.size(-2)).minimum(places.lengths_11() - 1);
    const torch::Tensor distances_TS = places.positions_S() - centres_T1;
    return {.outside_TS = places.padding_1S | distances_TS.abs().gt(half_width_)};
  }
  bool describe(ops::AttentionForm& form) const override {
    form.half_width = half_width_;
    return true;
  }

 private:
  std::int64_t half_width_;  // D
};

}  // namespace attend
