// The matrix products of the fast paths, by one of two libraries in LibTorch: oneDNN for bf16, and for fp32 on AMD
// processors with AVX-512; otherwise MKL (at::mm). oneDNN is called through the dispatcher; it reads packed weights and
// fuses an activation. These products are not differentiable. And the packed forms of a weight: for decoding, made by
// `Weight::freeze`, and for logits.
#pragma once

#include <torch/types.h>

#include <mutex>

#include "models/ops/kernels/packed.hpp"
#include "models/ops/ops.hpp"

namespace attend::ops {

struct PackedWeight {
  Precision precision = Precision::fp32;
  kernels::Panels panels;        // fp32
  torch::Tensor blocked;         // bf16: oneDNN's own layout, opaque
  kernels::Int8Weight integers;  // int8
};

// Made by the first op that computes bf16 logits with the weight; copies of the weight share it.
struct LogitsWeight {
  std::once_flag made;
  kernels::Bf16Panels panels;
};

namespace products {

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

// A bf16 weight [O, I] in oneDNN's own layout, for `linear`; opaque.
torch::Tensor pack(const torch::Tensor& weight);

// Sets ONEDNN_PRIMITIVE_CACHE_CAPACITY unless it is set; call it before the first matrix product. oneDNN compiles a
// primitive for each size and caches it. A large cache pays off only for small models with recurring batch sizes;
// otherwise it fragments the heap and costs gigabytes.
void set_primitive_cache(std::int64_t parameters, bool sizes_recur);

}  // namespace products
}  // namespace attend::ops
