// Options of element-wise operations: activation and dropout. Plain values without LibTorch.
#pragma once

#include <cstdint>

namespace attend::ops {

enum class Activation { none, relu, gelu, gelu_tanh, tanh };

// Counted dropout: element i is dropped when hash(key, i) falls below `rate`, the rest are scaled by 1 / (1 - rate).
// The backward pass recomputes the same mask. rate 0 is the identity.
struct Dropout {
  double rate = 0;
  std::uint64_t key = 0;
};

}  // namespace attend::ops
