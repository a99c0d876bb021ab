// The kernels of one pass over rows: activations, gates and dropout; layer norm and RMS norm, fused with the residual
// sum and dropout of a Transformer block; gathering rows of an embedding table and of positions, and scattering their
// gradients; and the cross-entropy of rows of logits. Each is called for items from `begin` to `end`: rows, or
// elements.
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
  void operator()(std::int64_t begin, std::int64_t end) const;
};

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
  void operator()(std::int64_t begin, std::int64_t end) const;
};

// y = activation(x[:, :width]) ⊙ x[:, width:] for rows from `begin` to `end`, or, if dy is not null, its gradient:
// dy ⊙ x[:, width:] ⊙ activation'(x[:, :width]) | dy ⊙ activation(x[:, :width]).
template <class T>
struct Gated {
  const T* x;   // [M, 2 width]
  const T* dy;  // [M, width]
  T* result;    // y [M, width], or dx [M, 2 width]
  std::int64_t width;
  Activation activation;
  void operator()(std::int64_t begin, std::int64_t end) const;
};

// sum = residual + dropout(x); y = (sum - mean) * rstd * gamma + beta. Without residual `sum` is x and not written.
// RMS norm has neither mean nor beta: y = sum * rstd * gamma, where rstd = (mean(sum²) + eps)^-1/2.
template <class T>
struct Norm {
  const T* x;
  const T* residual;  // or null
  T* sum;             // or null
  T* y;
  float* mean;  // one per row; null without beta
  float* rstd;  // one per row
  const float* gamma;
  const float* beta;  // null: RMS norm
  std::int64_t width;
  float eps;
  DropoutMask mask;
  void operator()(std::int64_t begin, std::int64_t end) const;
};

// From dy and the gradient dsum_in of `sum` itself: dsum, which is also the residual's gradient, and dx, which is dsum
// after the dropout mask. Adds to dgamma and dbeta [width]. With g = dy * gamma and n = (sum - mean) * rstd,
//   dsum = dsum_in + rstd * (g - mean(g) - n * mean(g * n));  RMS norm has no mean(g), and mean and dbeta are null.
template <class T>
struct NormBackward {
  const T* dy;
  const T* dsum_in;  // or null
  const T* sum;
  const float* mean;
  const float* rstd;
  const float* gamma;
  T* dsum;
  T* dx;  // null if the mask drops nothing: it equals dsum
  float* dgamma;
  float* dbeta;  // null: RMS norm
  std::int64_t width;
  DropoutMask mask;
  void operator()(std::int64_t begin, std::int64_t end) const;
};

// y[m] = dropout(table[ids[m]] * scale + positions[places[m]]).
template <class T>
struct Embed {
  const std::int64_t* ids;
  const std::int64_t* places;  // or null, without positions
  const float* table;
  const float* positions;  // or null
  T* y;
  std::int64_t width;
  float scale;
  DropoutMask mask;
  void operator()(std::int64_t begin, std::int64_t end) const;
};

// dtable[ids[m]] += scale * d[m] and dpositions[places[m]] += d[m], where d is dy after the dropout mask. Here `begin`
// and `end` count blocks of kWidest columns, so that threads write to disjoint columns and sums are in token order.
template <class T>
struct EmbedBackward {
  const std::int64_t* ids;
  const std::int64_t* places;  // or null, without positions
  const T* dy;
  float* dtable;      // or null
  float* dpositions;  // or null
  std::int64_t num_tokens;
  std::int64_t width;
  float scale;
  DropoutMask mask;
  void operator()(std::int64_t begin, std::int64_t end) const;
};

// For each row: loss = (1 - ε) (-log p(y)) + ε / V Σ_v (-log p(v)), nll = -log p(y), and whether no logit exceeds the
// label's. `gradient`, if given, receives p - (1 - ε) [v = y] - ε / V.
template <class T>
struct LossRows {
  const float* logits;  // [rows, vocabulary]
  T* gradient;          // like `logits`, or null; may be the same memory
  const std::int64_t* labels;
  std::int64_t vocabulary;
  float smoothing;
  float* loss;
  float* nll;
  std::int64_t* correct;
  void operator()(std::int64_t begin, std::int64_t end) const;
};

// log Σ exp(x_i) of n > 0 numbers; non-finite if undefined. `block_max` receives the maximum of every kBlock numbers.
inline constexpr std::int64_t kBlock = 64;
float log_sum_exp(const float* x, std::int64_t n, float* block_max);

}  // namespace attend::ops::kernels
