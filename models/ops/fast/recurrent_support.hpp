// Shared code of the fast paths over sequences: rows in step order, and the buffers that steps read and write.
#pragma once

#include <vector>

#include "models/ops/fast/products.hpp"
#include "models/ops/fast/support.hpp"
#include "models/ops/kernels/recurrent.hpp"

namespace attend::ops::fast {

using kernels::CopyRows;
using kernels::RowDropout;
using kernels::Rows;

// Matrix products use blocks of rows, so that oneDNN compiles few primitives; results of rows past the end of a step
// are ignored.
inline constexpr std::int64_t kRowBlock = 16;
inline constexpr std::int64_t kGrain = 16;  // minimum rows per thread

inline variable_list concatenated(variable_list all, const variable_list& more, const variable_list& last = {}) {
  all.insert(all.end(), more.begin(), more.end());
  all.insert(all.end(), last.begin(), last.end());
  return all;
}

inline Tensor index(const std::vector<std::int64_t>& rows) { return at::tensor(rows, at::kLong); }

// A weight in the type of the activations. Pass whole weights (contiguous or transposed): for column slices oneDNN
// falls back to a slow reference kernel.
inline Tensor working(const Weight& weight, const Tensor& like) {
  return weight.working().detach().to(like.scalar_type());
}

inline Tensor transposed(const Tensor& weight) { return weight.t().contiguous(); }

// Rows of a buffer with kRowBlock spare rows, rounded up to whole blocks.
inline Tensor block(const Tensor& buffer, std::int64_t first, std::int64_t count) {
  return buffer.narrow(0, first, (count + kRowBlock - 1) / kRowBlock * kRowBlock);
}

// A step of the loop: packed rows [first, first + count), of which `next` continue.
struct Step {
  Step(const Steps& steps, std::int64_t t)
      : index(t),
        first(steps.begin[t]),
        count(steps.count(t)),
        next(steps.count(t + 1)),
        before(t > 0 ? steps.begin[t - 1] : -1),
        ragged(steps.rows.data() + first) {}

  std::int64_t index;  // t
  std::int64_t first, count, next;
  std::int64_t before;         // first row of the previous step; -1: none
  const std::int64_t* ragged;  // the ragged row of each
};

// `rows`: the ragged row of each.
inline RowDropout row_dropout(Dropout dropout, const std::int64_t* rows, std::int64_t width, std::int64_t column = 0) {
  return {.mask = DropoutMask(dropout), .rows = rows, .width = width, .column = column};
}

// Calls f(begin, end) for parts of the step's rows, divided among threads.
template <class F>
void for_rows(const Step& step, const F& f) {
  at::parallel_for(0, step.count, kGrain, f);
}

}  // namespace attend::ops::fast
