// 8-bit matrix products for decoding: y = act(x Wᵀ + b), with W quantised once (one scale per output) and x quantised
// on the fly (one scale per row), following Bhandare et al. 2019 (arXiv 1906.00532) without calibration.
//
// There is a kernel for AVX-512 VNNI, one for AVX2, and a plain loop; all give the same integers, hence the same
// floats. Activations are signed; weights are stored unsigned with an offset of 128, as the instruction requires, which
// the sum of the row's activations cancels:
//   Σ_k (w_k + 128) a_k = Σ_k w_k a_k + 128 Σ_k a_k
#pragma once

#include <cstdint>
#include <vector>

namespace attend::ops::kernels {

// W [outputs, inputs] in blocks of 16 outputs by 4 inputs, both padded with zeros.
struct Int8Weight {
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::vector<std::uint8_t> blocks;
  std::vector<float> scales;  // of each output, padded to a multiple of 16: w = scale * integer

  static constexpr std::int64_t kGroup = 64;  // outputs that one thread takes at least
  std::int64_t groups() const { return (outputs + kGroup - 1) / kGroup; }
};

// Quantises fp32 rows symmetrically to -127 … 127 by their largest absolute value.
Int8Weight pack_int8(const float* weight, std::int64_t outputs, std::int64_t inputs);

// From slowest to fastest; a processor that supports one supports those before it.
enum class Int8Kernel { plain, avx2, vnni };
Int8Kernel best_int8_kernel();

// y [rows, outputs] = x [rows, inputs] Wᵀ + bias (may be null), below zero cut to zero where `relu`. Rows are
// contiguous.
struct Int8Product {
  const float* x;
  std::int64_t rows;
  const Int8Weight& weight;
  const float* bias;
  bool relu;
  float* y;
};
// Groups of outputs `begin` to `end`; `kernel` is at most the best. The same bits for any division.
void multiply(const Int8Product& p, std::int64_t begin, std::int64_t end, Int8Kernel kernel);

}  // namespace attend::ops::kernels
