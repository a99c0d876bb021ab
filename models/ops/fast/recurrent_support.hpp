// What the fast paths over sequences share: rows in the order of steps, and the buffers that steps read and write.
//
// Packed rows: sentences in order of falling length, position after position. Three sentences a0 a1, b0 b1 b2, c0 are
//   order b a c,  rows b0 a0 c0 | b1 a1 | b2,  begin 0 3 5 6
// so that step t is the rows begin[t] … begin[t + 1], and row i of a step is followed by row i of the next.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "models/ops/fast/products.hpp"
#include "models/ops/fast/recurrent.hpp"
#include "models/ops/fast/support.hpp"
#include "models/ops/kernels/recurrent.hpp"

namespace attend::ops::fast {

using kernels::RowDropout;
using kernels::Rows;

// Products take their rows in blocks, so that oneDNN meets few different shapes and makes few kernels; what the rows of
// a block beyond the step give is not read.
inline constexpr std::int64_t kRowBlock = 16;
inline constexpr std::int64_t kGrain = 16;  // rows that are worth a thread

struct Steps {
  Steps(const Layout& layout, bool reverse) : order(layout.size()), packed(layout.num_tokens()) {
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return layout.length(a) > layout.length(b); });
    for (std::int64_t t = 0; t < layout.max_length; ++t) {
      for (const std::int64_t b : order) {
        if (layout.length(b) <= t) break;
        const std::int64_t row = reverse ? layout.offsets[b + 1] - 1 - t : layout.offsets[b] + t;
        packed[row] = static_cast<std::int64_t>(rows.size());
        rows.push_back(row);
      }
      begin.push_back(static_cast<std::int64_t>(rows.size()));
    }
  }
  std::int64_t size() const { return static_cast<std::int64_t>(begin.size()) - 1; }
  std::int64_t count(std::int64_t t) const { return t < size() ? begin[t + 1] - begin[t] : 0; }

  std::vector<std::int64_t> order;
  std::vector<std::int64_t> begin = {0};
  std::vector<std::int64_t> rows;    // the ragged row of each packed one
  std::vector<std::int64_t> packed;  // the packed row of each ragged one
};

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
