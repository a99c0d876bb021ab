// Layer norm and RMS norm over rows, fused with the residual sum and dropout of a Transformer block.
#pragma once

#include "models/ops/kernels/types.hpp"

namespace attend::ops::kernels {

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
};
void norm(const Norm<float>& a, std::int64_t begin, std::int64_t end);
void norm(const Norm<Bf16>& a, std::int64_t begin, std::int64_t end);

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
};
void norm_backward(const NormBackward<float>& a, std::int64_t begin, std::int64_t end);
void norm_backward(const NormBackward<Bf16>& a, std::int64_t begin, std::int64_t end);

}  // namespace attend::ops::kernels
