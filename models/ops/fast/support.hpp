// Shared code of the fast paths: tensors as kernel arguments, chunks of rows, and inputs that need not be saved.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <concepts>
#include <cstdint>

#include "models/ops/autograd.hpp"
#include "models/ops/kernels/types.hpp"
#include "models/ops/paths.hpp"

namespace attend::ops::fast {

// Calls f with a value of the kernels' type for `type`: float or Bf16.
template <class F>
auto with_type(at::ScalarType type, const F& f) {
  return type == at::kFloat ? f(float{}) : f(kernels::Bf16{});
}

template <class T>
const T* read(const Tensor& x) {
  return x.defined() ? static_cast<const T*>(x.const_data_ptr()) : nullptr;
}
template <class T>
T* write(const Tensor& x) {
  return x.defined() ? static_cast<T*>(x.mutable_data_ptr()) : nullptr;
}
// Rows from `first`, each contiguous, or none if x is undefined; T is const if the kernel only reads them.
template <class T>
kernels::Rows<T> rows(const Tensor& x, std::int64_t first = 0) {
  if (!x.defined()) return {};
  return kernels::Rows<T>{static_cast<T*>(x.data_ptr()), x.stride(0)}.from(first);
}

// A matrix, if defined, with rows that may be strided but are each contiguous.
inline Tensor with_whole_rows(const Tensor& x) { return !x.defined() || x.stride(1) == 1 ? x : x.contiguous(); }

// Rows split into equal consecutive parts, one per thread, or fewer if there is little work.
class Chunks {
 public:
  // `cost`: approximate number of elements touched per row.
  Chunks(std::int64_t rows, std::int64_t cost)
      : rows_(rows),
        count_(std::clamp<std::int64_t>(rows * std::max<std::int64_t>(cost, 1) / 16384, 1, at::get_num_threads())) {}

  // Calls f(begin, end), or f(chunk, begin, end), for each part.
  template <class F>
  void run(const F& f) const {
    const auto part = [&](std::int64_t i) {
      const std::int64_t begin = rows_ * i / count_, end = rows_ * (i + 1) / count_;
      if constexpr (std::invocable<const F&, std::int64_t, std::int64_t>) {
        f(begin, end);
      } else {
        f(i, begin, end);
      }
    };
    if (count_ == 1) return part(0);
    at::parallel_for(0, count_, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) part(i);
    });
  }

  // An fp32 accumulator row for each chunk, and their sum.
  Tensor partial_sums(std::int64_t width) const { return at::zeros({count_, width}, at::kFloat); }
  Tensor total(const Tensor& partial) const { return count_ == 1 ? partial[0] : partial.sum(0); }

 private:
  std::int64_t rows_, count_;
};

// The gradient of a matrix product's weight needs its input x. If x is the output of a norm, it is not saved but
// recomputed from the sum that the norm's own node saved:
//   forward:   save_for_backward({saved_unless_recomputable(x), …}), undefined where x is a norm's output
//   backward:  saved_or_recomputed(saved), which finds the norm at edge 0, as x is the function's first input
Tensor saved_unless_recomputable(const Tensor& x);
Tensor saved_or_recomputed(const Tensor& saved);

}  // namespace attend::ops::fast
