#include "models/ops/dispatch.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <cstdlib>
#include <string_view>

#include "models/ops/kernels/types.hpp"

namespace attend::ops {
namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::string_view(value) == "1";
}

// True if ops on tensors of this type need not be plain.
bool may_be_fast(at::ScalarType type) {
  static const bool plain = is_set("ATTEND_PLAIN_OPS");
  return !plain && PlainOps::count == 0 && (type == at::kFloat || type == at::kBFloat16);
}

}  // namespace

bool has_fast_path(const torch::Tensor& x) { return x.is_cpu() && GpuOps::count == 0 && may_be_fast(x.scalar_type()); }

bool has_gpu_path(const torch::Tensor& x) { return (x.is_cuda() || GpuOps::count > 0) && may_be_fast(x.scalar_type()); }

bool has_fast_product(const torch::Tensor& x, const Weight& weight) {
  return has_fast_path(x) && x.scalar_type() == weight.working().scalar_type();
}

bool has_gpu_product(const torch::Tensor& x, const Weight& weight) {
  return has_gpu_path(x) && x.scalar_type() == weight.working().scalar_type();
}

bool may_fuse_sequences(const torch::Tensor& x) {
  static const bool unrolled = is_set("ATTEND_UNROLLED");
  return has_fast_path(x) && !unrolled && Unrolled::count == 0;
}

bool may_fuse_steps(const torch::Tensor& x) { return may_fuse_sequences(x) && !at::GradMode::is_enabled(); }

int kernels::cpu_level() {
  static const int level = [] {
    const char* limit = std::getenv("ATTEND_CPU_LEVEL");
    const int most = limit != nullptr ? std::atoi(limit) : 4;
#if defined(__x86_64__)
    if (most >= 4 && __builtin_cpu_supports("x86-64-v4")) return 4;
    if (most >= 3 && __builtin_cpu_supports("x86-64-v3")) return 3;
#endif
    return 1;
  }();
  return level;
}

bool has_native_bf16() {
#if defined(__x86_64__)
  return kernels::cpu_level() >= 4 && __builtin_cpu_supports("avx512bf16") > 0;
#else
  return false;
#endif
}

}  // namespace attend::ops
