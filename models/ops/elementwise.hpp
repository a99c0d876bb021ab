// What the kernels need to know of element-wise operations and recurrent cells, without LibTorch.
#pragma once

#include <cmath>
#include <cstdint>

namespace attend {

// Cells with input x, state h and next state h', which is the output; each gate has its own W, U and biases:
//   lstm  i, f, o = σ(W x + U h + b),  g = tanh(W x + U h + b),  c' = f c + i g,  h' = o tanh(c')
//         (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000)
//   gru   r, z = σ(W x + U h + b),  n = tanh(W x + b + r (U h + b)),  h' = (1 - z) n + z h
//         (Cho et al. 2014, arXiv 1406.1078, with the reset gate after the product, as in cuDNN)
//   tanh  h' = tanh(W x + U h + b)  (Elman 1990)
enum class CellKind { lstm, gru, tanh };

}  // namespace attend

namespace attend::ops {

// swish: x σ(x) (Ramachandran et al. 2017, arXiv 1710.05941, with β = 1).
enum class Activation { none, relu, gelu, gelu_tanh, tanh, swish };

// Counter-based dropout: element i is dropped if hash(key, i) is below `rate`, the others are scaled by 1 / (1 - rate).
// The backward pass recomputes the same mask. Rate 0 is the identity.
struct Dropout {
  double rate = 0;
  std::uint64_t key = 0;
};

// The dropout mask: compares a 32-bit hash of (key, index) with a threshold. All paths use it (kernels/lanes.hpp,
// plain/ops.cpp). The hash needs only 32-bit multiplications and shifts, so loops vectorise: "lowbias32" (Wellons 2018,
// "Prospecting for hash functions"). Indices wrap at 2^32. The factor of element i is 0 or `scale`, 1 / (1 - rate):
//
//   x = i stride + low,  x = (x ^ x >> 16) first,  x = ((x ^ x >> 15) + high) second,  0 if (x ^ x >> 16) < threshold
struct DropoutMask {
  explicit DropoutMask(Dropout dropout)
      : low(static_cast<std::uint32_t>(dropout.key)),
        high(static_cast<std::uint32_t>(dropout.key >> 32)),
        threshold(static_cast<std::uint32_t>(std::llround(std::fmin(dropout.rate * 0x1p32, 0x1p32 - 1)))),
        scale(static_cast<float>(1 / (1 - dropout.rate))) {}

  // False if every factor is 1.
  bool drops() const { return threshold > 0; }

  static constexpr std::uint32_t kStride = 0x9e3779b1;
  static constexpr std::uint32_t kFirst = 0x7feb352d;
  static constexpr std::uint32_t kSecond = 0x846ca68b;

  std::uint32_t low, high, threshold;
  float scale;
};

}  // namespace attend::ops
