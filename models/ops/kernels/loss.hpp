// Label-smoothed cross-entropy of rows of logits and its gradient, and the log-normaliser of a row.
#pragma once

#include "models/ops/kernels/types.hpp"

namespace attend::ops::kernels {

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
};
void loss_rows(const LossRows<float>& a, std::int64_t begin, std::int64_t end);
void loss_rows(const LossRows<Bf16>& a, std::int64_t begin, std::int64_t end);

// log Σ exp(x_i) of n > 0 numbers; non-finite if undefined. `block_max` receives the maximum of every kBlock numbers.
inline constexpr std::int64_t kBlock = 64;
float log_sum_exp(const float* x, std::int64_t n, float* block_max);

}  // namespace attend::ops::kernels
