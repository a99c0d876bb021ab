// Activations, gates and dropout, element by element, forward and backward.
#pragma once

#include "models/ops/kernels/types.hpp"

namespace attend::ops::kernels {

// y[i] = dropout(activation(x[i])) for i from `begin` to `end`; x and y may be the same.
template <class T>
struct Pointwise {
  const T* x;
  T* y;
  Activation activation;
  DropoutMask mask;
};
void pointwise(const Pointwise<float>& a, std::int64_t begin, std::int64_t end);
void pointwise(const Pointwise<Bf16>& a, std::int64_t begin, std::int64_t end);

// The gradient of activation(x): dx from dy (may be the same memory); adds the column sums of dx to `column_sums`
// [width] (or null). `saved` is y for relu and tanh, x for gelu and swish, null without activation; if y is not null, y
// is recomputed into it from x, and it may be `saved`. Without activation, dx is null: it equals dy.
template <class T>
struct PointwiseBackward {
  const T* dy;
  const T* saved;
  T* dx;
  T* y;
  float* column_sums;
  std::int64_t width;
  Activation activation;
};
void pointwise_backward(const PointwiseBackward<float>& a, std::int64_t begin, std::int64_t end);
void pointwise_backward(const PointwiseBackward<Bf16>& a, std::int64_t begin, std::int64_t end);

// y = activation(x[:, :width]) ⊙ x[:, width:] for rows from `begin` to `end`, or, if dy is not null, its gradient:
// dy ⊙ x[:, width:] ⊙ activation'(x[:, :width]) | dy ⊙ activation(x[:, :width]).
template <class T>
struct Gated {
  const T* x;   // [M, 2 width]
  const T* dy;  // [M, width]
  T* result;    // y [M, width], or dx [M, 2 width]
  std::int64_t width;
  Activation activation;
};
void gated(const Gated<float>& a, std::int64_t begin, std::int64_t end);
void gated(const Gated<Bf16>& a, std::int64_t begin, std::int64_t end);

}  // namespace attend::ops::kernels
