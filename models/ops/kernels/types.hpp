// Types shared by the loops of this folder and their callers, without LibTorch: bf16 numbers, rows of a matrix by
// pointer and stride, and dropout on some columns.
#pragma once

#include <cstdint>
#include <type_traits>

#include "models/ops/elementwise.hpp"

namespace attend::ops::kernels {

// The x86-64 level whose loops are used (levels.hpp): 4, 3 or 1, the best of the processor, limited by ATTEND_CPU_LEVEL
// if that is set (to test the others).
int cpu_level();

// A bf16 number in memory: the upper half of an fp32.
struct Bf16 {
  std::uint16_t bits;
};

// Rows of a matrix; row i starts at data + i * stride.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t stride = 0;
  T* row(std::int64_t i) const { return data + i * stride; }
  Rows from(std::int64_t first) const { return {row(first), stride}; }
  Rows columns(std::int64_t first) const { return {data + first, stride}; }
};

// Dropout on some rows and columns of a larger matrix: element (i, j) here is element (rows[i], column + j) of a matrix
// with `width` columns.
struct RowDropout {
  DropoutMask mask{Dropout{}};
  const std::int64_t* rows = nullptr;  // read if the mask drops
  std::int64_t width = 0;
  std::int64_t column = 0;
};

// The widest vector at any level (lanes.hpp): padded sizes are multiples of it.
inline constexpr std::int64_t kWidest = 16;
constexpr std::int64_t padded(std::int64_t n) { return (n + kWidest - 1) / kWidest * kWidest; }

// Calls f(std::integral_constant<int, n>) for n = min(count, most): tiles are templates over their numbers of rows and
// panels, so that their sums stay in registers.
template <int most, class F>
[[gnu::always_inline]] inline void with_count(std::int64_t count, const F& f) {
  if constexpr (most > 1) {
    if (count < most) return with_count<most - 1>(count, f);
  }
  f(std::integral_constant<int, most>());
}

}  // namespace attend::ops::kernels
