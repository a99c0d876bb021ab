// 8-bit matrix products for decoding: y = act(x Wᵀ + b), with W quantised once (one scale per output) and x quantised
// on the fly (one scale per row), following Bhandare et al. 2019 (arXiv 1906.00532) without calibration.
//
// There is a kernel for AVX-512 VNNI, one for AVX2, and a plain loop; all give the same integers and hence the same
// floats. Activations are signed; weights are stored unsigned with an offset of 128, as the instruction requires. The
// sum of the row's activations cancels the offset:
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
  std::vector<float> scales;  // one per output, padded to a multiple of 16: w = scale * integer

  static constexpr std::int64_t kGroup = 64;  // minimum outputs per thread
  std::int64_t groups() const { return (outputs + kGroup - 1) / kGroup; }
};

// Quantises fp32 rows symmetrically to -127 … 127 by their largest absolute value.
Int8Weight pack_int8(const float* weight, std::int64_t outputs, std::int64_t inputs);

// From slowest to fastest; a processor that supports one also supports those before it.
enum class Int8Kernel { plain, avx2, vnni };
Int8Kernel best_int8_kernel();

// y [rows, outputs] = x [rows, inputs] Wᵀ + bias (may be null), followed by relu if it is set. The rows of x and y are
// contiguous.
struct Int8Product {
  const float* x;
  std::int64_t rows;
  const Int8Weight& weight;
  const float* bias;
  bool relu;
  float* y;
};
// Computes groups of outputs from `begin` to `end` with a supported kernel. The result does not depend on the division.
void multiply(const Int8Product& p, std::int64_t begin, std::int64_t end, Int8Kernel kernel);

}  // namespace attend::ops::kernels
