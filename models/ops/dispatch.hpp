// Decides, by device, type and environment, whether an op may use its fast path or the GPU's form instead of its plain
// formulation.
#pragma once

#include <torch/types.h>

#include "models/ops/weight.hpp"

namespace attend::ops {

// True if ops on `x` have fast paths: fp32 and bf16 on a CPU, unless ATTEND_PLAIN_OPS=1 or a PlainOps exists.
bool has_fast_path(const torch::Tensor& x);

// The same for a matrix product of x and the weight's working form: they must have the same type.
bool has_fast_product(const torch::Tensor& x, const Weight& weight);

// True if ops on `x` may use the GPU's forms (gpu/): fp32 and bf16 on a GPU, unless ATTEND_PLAIN_OPS=1 or a PlainOps
// exists. The second is the same for a matrix product.
bool has_gpu_path(const torch::Tensor& x);
bool has_gpu_product(const torch::Tensor& x, const Weight& weight);

// True if this processor multiplies bf16 natively (AVX-512 BF16).
bool has_native_bf16();

// True if a recurrent decoder may run as one fused op over a batch `x`, or, without gradients, its attention as one op
// over the queries `x` of a step: if there are fast paths, unless ATTEND_UNROLLED=1 or an Unrolled exists.
bool may_fuse_sequences(const torch::Tensor& x);
bool may_fuse_steps(const torch::Tensor& x);

// During its lifetime every op in the process uses its plain formulation. For tests and benchmarks.
class PlainOps {
 public:
  PlainOps();
  ~PlainOps();
  PlainOps(const PlainOps&) = delete;
  PlainOps& operator=(const PlainOps&) = delete;
};

// During its lifetime ops on the processor use the GPU's forms. For tests, which stand in for the kernels of LibTorch
// that only a GPU has.
class GpuOps {
 public:
  GpuOps();
  ~GpuOps();
  GpuOps(const GpuOps&) = delete;
  GpuOps& operator=(const GpuOps&) = delete;
};

// During its lifetime recurrent decoders are unrolled step by step, with the fast paths of the ops in a step. For tests
// and benchmarks.
class Unrolled {
 public:
  Unrolled();
  ~Unrolled();
  Unrolled(const Unrolled&) = delete;
  Unrolled& operator=(const Unrolled&) = delete;
};

}  // namespace attend::ops
