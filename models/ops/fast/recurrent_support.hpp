// What the fast paths over sequences share: rows in the order of steps, and the buffers that steps read and write.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <vector>

#include "models/ops/fast/products.hpp"
#include "models/ops/fast/recurrent.hpp"
#include "models/ops/fast/support.hpp"
#include "models/ops/kernels/recurrent.hpp"
#include "models/ops/steps.hpp"

namespace attend::ops::fast {

using kernels::RowDropout;
using kernels::Rows;

// Products take their rows in blocks, so that oneDNN meets few different shapes and makes few kernels; what the rows of
// a block beyond the step give is not read.
inline constexpr std::int64_t kRowBlock = 16;
inline constexpr std::int64_t kGrain = 16;  // rows that are worth a thread

inline Tensor index(const std::vector<std::int64_t>& rows) { return at::tensor(rows, at::kLong); }

// A weight in the type of the activations. Products read weights whole, contiguous or transposed: for slices oneDNN has
// but a reference loop, a hundred times slower.
inline Tensor working(const Weight& weight, const Tensor& like) {
  return weight.working().detach().to(like.scalar_type());
}

inline Tensor transposed(const Tensor& weight) { return weight.t().contiguous(); }

// Rows of a buffer that has kRowBlock rows to spare, in whole blocks.
inline Tensor block(const Tensor& buffer, std::int64_t first, std::int64_t count) {
  return buffer.narrow(0, first, (count + kRowBlock - 1) / kRowBlock * kRowBlock);
}

inline Tensor defined_or_zeros(const Tensor& gradient, const Tensor& like) {
  return gradient.defined() ? gradient.to(like.scalar_type()).contiguous() : at::zeros_like(like);
}

// What the backward pass of a function is told beside tensors that autograd follows.
template <class T>
struct Held : torch::CustomClassHolder {
  T value;
};

}  // namespace attend::ops::fast
