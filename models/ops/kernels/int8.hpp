// Products of 8-bit integers for decoding: y = act(x Wᵀ + b) with W quantised once, a scale for each output, and x
// quantised on the way in, a scale for each row (the scheme of Bhandare et al. 2019, arXiv 1906.00532, without
// calibration).
//
// A kernel for processors with AVX-512 VNNI, one for AVX2, and a plain loop; all give the same integers, so the same
// floats. Activations are signed; weights are stored with 128 added, unsigned, as the instruction wants them, and
// the sum of the row's activations takes the 128 out again:
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
};

// Quantises fp32 rows symmetrically to -127 … 127 by their largest absolute value.
Int8Weight pack_int8(const float* weight, std::int64_t outputs, std::int64_t inputs);

// From the slowest to the fastest; a processor that has one has those before it.
enum class Int8Kernel { plain, avx2, vnni };
Int8Kernel best_int8_kernel();

// y [rows, outputs] = x [rows, inputs] Wᵀ + bias (may be null), below zero cut to zero where `relu`. Rows are
// contiguous. `kernel` is at most the best.
void int8_linear(const float* x, std::int64_t rows, const Int8Weight& weight, const float* bias, bool relu, float* y,
                 Int8Kernel kernel);

}  // namespace attend::ops::kernels
