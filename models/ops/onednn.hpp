// The matrix products of LibTorch's own oneDNN, reached through the dispatcher: for fp32 on AMD they are twice as fast
// as at::linear (MKL picks slow kernels there), and they read packed weights and apply an activation on the way out.
// They have no autograd formula, and LibTorch may lack them: ask `available` first.
#pragma once

#include <torch/types.h>

#include "models/ops/ops.hpp"

namespace attend::ops::onednn {

bool available();

// activation(x Wᵀ + b): x [M, I], W [O, I] (strides may be transposed) or packed, b [O] of x's type or undefined.
torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                     Activation activation = Activation::none);

// yᵀ x in fp32, the gradient of a weight: y [M, O], x [M, I]; [O, I].
torch::Tensor outer(const torch::Tensor& y, const torch::Tensor& x);

// A dense weight [O, I] in oneDNN's blocked layout.
torch::Tensor pack(const torch::Tensor& weight);

}  // namespace attend::ops::onednn
