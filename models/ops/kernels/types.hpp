// What the loops of this folder and their callers share. No LibTorch here: pointers in, rows from `begin` to `end`,
// arithmetic in fp32 whatever the type in memory.
#pragma once

#include <cstdint>
#include <type_traits>

#include "models/ops/mask.hpp"

namespace attend::ops::kernels {

// A bf16 number in memory: the upper half of an fp32 one.
struct Bf16 {
  std::uint16_t bits;
};

// Rows of a matrix; row i begins at data + i * stride.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t stride = 0;
  T* row(std::int64_t i) const { return data + i * stride; }
  Rows from(std::int64_t first) const { return {row(first), stride}; }
  Rows columns(std::int64_t first) const { return {data + first, stride}; }
};

// Dropout on some columns of rows that lie elsewhere: element (row, j) here is element (row, column + j) of a matrix of
// `width` columns.
struct RowDropout {
  DropoutMask mask{Dropout{}};
  bool active = false;
  std::int64_t width = 0;
  std::int64_t column = 0;
};

// The most numbers that a vector has at any level (lanes.hpp): what is padded is a multiple of it.
inline constexpr std::int64_t kWidest = 16;

// f(std::integral_constant<int, n>) for n = `count`, at most `most`: a tile is a template of its numbers of rows and
// panels, so that its sums stay in registers.
template <int most, class F>
[[gnu::always_inline]] inline void with_count(std::int64_t count, const F& f) {
  if constexpr (most > 1) {
    if (count < most) return with_count<most - 1>(count, f);
  }
  f(std::integral_constant<int, most>());
}

}  // namespace attend::ops::kernels
