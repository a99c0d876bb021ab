// The matrix products of the fast paths, by whichever of LibTorch's two libraries is faster here: MKL (at::mm), or
// oneDNN, which alone multiplies bf16, and fp32 better on AMD processors with AVX-512. oneDNN is reached through the
// dispatcher; it reads packed weights and applies an activation on the way out. No product here has an autograd
// formula.
#pragma once

#include <torch/types.h>

#include "models/ops/ops.hpp"

namespace attend::ops::products {

// Whether the functions below take bf16: where LibTorch has oneDNN and the processor AVX-512. They always take fp32.
bool multiplies_bf16();

// activation(x Wᵀ + b): x [M, I], W [O, I] (strides may be transposed) or packed bf16, b [O] of x's type or undefined.
// The activation is none, relu or tanh.
torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                     Activation activation = Activation::none);

// yᵀ x in fp32, the gradient of a weight: y [M, O], x [M, I]; [O, I].
torch::Tensor outer(const torch::Tensor& y, const torch::Tensor& x);
// The same in the type of y and x.
torch::Tensor rounded_outer(const torch::Tensor& y, const torch::Tensor& x);

// A bf16 weight [O, I] in the layout that `linear` reads fastest; opaque.
torch::Tensor pack(const torch::Tensor& weight);

// To be called before the first product of a training. oneDNN makes a program for every size of a product. To remember
// those of many sizes pays where these recur, in batches that are about as large as each other, and a product takes no
// longer than its program: a tenth of the time of a small model. Elsewhere it saves nothing, and programs that lie
// between the tensors of a batch keep gigabytes from being used again.
void remember_programs(std::int64_t parameters, bool sizes_recur);

}  // namespace attend::ops::products
