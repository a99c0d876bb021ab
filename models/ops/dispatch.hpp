// Decides, by device, type and environment, whether an op may use its fast path or the GPU's form instead of its plain
// formulation.
#pragma once

#include <torch/types.h>

#include <atomic>

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

// During the lifetime of one, ops of the whole process are dispatched in another way. For tests and benchmarks.
template <class Way>
class OtherOps {
 public:
  OtherOps() { ++count; }
  ~OtherOps() { --count; }
  OtherOps(const OtherOps&) = delete;
  OtherOps& operator=(const OtherOps&) = delete;

  static inline std::atomic<int> count = 0;  // of those that exist
};
// Every op uses its plain formulation.
using PlainOps = OtherOps<struct PlainWay>;
// Ops on the processor use the GPU's forms: tests stand in for the kernels of LibTorch that only a GPU has.
using GpuOps = OtherOps<struct GpuWay>;
// Recurrent decoders are unrolled step by step, with the fast paths of the ops in a step.
using Unrolled = OtherOps<struct UnrolledWay>;

}  // namespace attend::ops
