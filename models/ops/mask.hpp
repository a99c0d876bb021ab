// The dropout mask: compares a 32-bit hash of (key, index) with a threshold. All paths use it (kernels/lanes.hpp,
// plain/ops.cpp). The hash needs only 32-bit multiplications and shifts, so loops vectorise: "lowbias32" (Wellons 2018,
// "Prospecting for hash functions"). Indices wrap at 2^32. The factor of element i is 0 or `scale`, 1 / (1 - rate):
//
//   x = i stride + low,  x = (x ^ x >> 16) first,  x = ((x ^ x >> 15) + high) second,  0 if (x ^ x >> 16) < threshold
#pragma once

#include <cmath>
#include <cstdint>

#include "models/ops/elementwise.hpp"

namespace attend::ops {

class DropoutMask {
 public:
  explicit DropoutMask(Dropout dropout)
      : low_(static_cast<std::uint32_t>(dropout.key)),
        high_(static_cast<std::uint32_t>(dropout.key >> 32)),
        threshold_(static_cast<std::uint32_t>(std::llround(std::fmin(dropout.rate * 0x1p32, 0x1p32 - 1)))),
        scale_(static_cast<float>(1 / (1 - dropout.rate))) {}

  // False if every factor is 1.
  bool drops() const { return threshold_ > 0; }

  static constexpr std::uint32_t kStride = 0x9e3779b1;
  static constexpr std::uint32_t kFirst = 0x7feb352d;
  static constexpr std::uint32_t kSecond = 0x846ca68b;

  std::uint32_t low() const { return low_; }
  std::uint32_t high() const { return high_; }
  std::uint32_t threshold() const { return threshold_; }
  float scale() const { return scale_; }

 private:
  std::uint32_t low_, high_, threshold_;
  float scale_;
};

}  // namespace attend::ops
