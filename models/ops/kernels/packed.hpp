// Products x Wᵀ + b with a packed weight W, for inference. The result does not depend on how callers divide the
// outputs.
//
//   Panels      fp32: with the few rows of a decoding step, a library would spend most of its time copying the dense
//               weight in each call
//   Int8Weight  8 bits: W quantised once (one scale per output) and x on the fly (one scale per row), following
//               Bhandare et al. 2019 (arXiv 1906.00532) without calibration
//   Bf16Panels  bf16 factors, fp32 sums and results, for logits: LibTorch's oneDNN rounds results to the type of the
//               factors, which puts logits of 8 to 16 on a grid of 1 / 16
#pragma once

#include <new>
#include <vector>

#include "models/ops/kernels/types.hpp"

namespace attend::ops::kernels {

// y [rows, outputs] = x [rows, inputs] Wᵀ + bias (may be null), then relu if set. Rows are contiguous.
template <class Weight>
struct PackedProduct {
  const float* x;
  std::int64_t rows;
  const Weight& weight;
  const float* bias;
  bool relu;
  float* y;
};

// Allocates at the beginning of a cache line, so that no vector of a panel lies across two of them.
template <class T>
struct CacheLines {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kLine)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, kLine); }
  bool operator==(const CacheLines&) const = default;
};

// W [outputs, inputs] in panels of kWidest outputs, the last one padded with zeros: numbers[panel][input][output].
struct Panels {
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::vector<float, CacheLines<float>> numbers;
  std::int64_t count() const { return (outputs + kWidest - 1) / kWidest; }
};
Panels make_panels(const float* weight, std::int64_t outputs, std::int64_t inputs);

using PanelProduct = PackedProduct<Panels>;
// Computes the columns of panels `begin` to `end`.
void multiply(const PanelProduct& p, std::int64_t begin, std::int64_t end);

// W [outputs, inputs] in blocks of 16 outputs by 4 inputs, both padded with zeros. There is a kernel for AVX-512 VNNI,
// one for AVX2, and a plain loop; all give the same integers and hence the same floats. Activations are signed; weights
// are stored unsigned with an offset of 128, as the instruction requires. The sum of the row's activations cancels the
// offset:
//   Σ_k (w_k + 128) a_k = Σ_k w_k a_k + 128 Σ_k a_k
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

using Int8Product = PackedProduct<Int8Weight>;
// Computes groups of outputs from `begin` to `end` with a supported kernel.
void multiply(const Int8Product& p, std::int64_t begin, std::int64_t end, Int8Kernel kernel);

// W [outputs, inputs] in blocks of 16 outputs by 2 inputs, both padded with zeros: numbers[block][pair][output][2].
struct Bf16Panels {
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::vector<Bf16> numbers;

  static constexpr std::int64_t kGroup = 64;  // minimum outputs per thread
  std::int64_t groups() const { return (outputs + kGroup - 1) / kGroup; }
};
Bf16Panels make_panels(const Bf16* weight, std::int64_t outputs, std::int64_t inputs);

struct LogitsProduct {
  const Bf16* x;
  std::int64_t rows;
  const Bf16Panels& weight;
  const float* bias;
  float* y;
};
// Computes groups of outputs from `begin` to `end`. Uses vdpbf16ps and so requires has_native_bf16().
void multiply(const LogitsProduct& p, std::int64_t begin, std::int64_t end);

}  // namespace attend::ops::kernels
