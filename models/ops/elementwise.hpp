// Options of element-wise operations, activation and dropout, without LibTorch, for the kernels.
#pragma once

#include <cstdint>

namespace attend::ops {

// swish: x σ(x) (Ramachandran et al. 2017, arXiv 1710.05941, with β = 1).
enum class Activation { none, relu, gelu, gelu_tanh, tanh, swish };

// Counter-based dropout: element i is dropped if hash(key, i) is below `rate`, the others are scaled by 1 / (1 - rate).
// The backward pass recomputes the same mask. Rate 0 is the identity.
struct Dropout {
  double rate = 0;
  std::uint64_t key = 0;
};

}  // namespace attend::ops
