// The matrix products of the fast paths, by the faster of two libraries in LibTorch: MKL (at::mm) or oneDNN, which is
// the only one for bf16 and the faster one for fp32 on AMD processors with AVX-512. oneDNN is called through the
// dispatcher; it reads packed weights and fuses an activation. No product here has an autograd formula.
#pragma once

#include <torch/types.h>

#include "models/ops/ops.hpp"

namespace attend::ops::products {

// True if the functions below accept bf16: LibTorch must have oneDNN and the processor AVX-512. fp32 always works.
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

// Must precede the first matrix product of a training. oneDNN compiles a primitive for each size and caches it. A large
// cache pays off only for small models with recurring batch sizes (a tenth of a step's time); otherwise cached
// primitives fragment the heap and cost gigabytes. Sets ONEDNN_PRIMITIVE_CACHE_CAPACITY unless it is set.
void set_primitive_cache(std::int64_t parameters, bool sizes_recur);

}  // namespace attend::ops::products
