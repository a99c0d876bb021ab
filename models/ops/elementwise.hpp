// What ops do to single elements: the choice of activation, and dropout. Plain values; no LibTorch here.
#pragma once

#include <cstdint>

namespace attend::ops {

enum class Activation { none, relu, gelu, gelu_tanh, tanh };

// Counted dropout: element i is dropped when hash(key, i) falls below `rate`, the rest are scaled by 1 / (1 - rate).
// The backward pass computes the same mask anew. rate 0 is the identity.
struct Dropout {
  double rate = 0;
  std::uint64_t key = 0;
};

}  // namespace attend::ops
