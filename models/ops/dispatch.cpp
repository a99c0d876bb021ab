#include "models/ops/dispatch.hpp"

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "models/ops/kernels/level.hpp"

namespace attend::ops {
namespace {

std::atomic<int> plain_scopes = 0;

bool plain_by_environment() {
  static const bool plain = [] {
    const char* value = std::getenv("ATTEND_PLAIN_OPS");
    return value != nullptr && std::string_view(value) == "1";
  }();
  return plain;
}

}  // namespace

bool has_fast_path(const torch::Tensor& x) {
  if (plain_by_environment() || plain_scopes > 0) return false;
  return x.is_cpu() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

bool has_fast_product(const torch::Tensor& x, const Weight& weight) {
  return has_fast_path(x) && x.scalar_type() == weight.working().scalar_type();
}

bool has_native_bf16() {
#if defined(__x86_64__)
  return kernels::cpu_level() >= 4 && __builtin_cpu_supports("avx512bf16") > 0;
#else
  return false;
#endif
}

PlainOps::PlainOps() { ++plain_scopes; }
PlainOps::~PlainOps() { --plain_scopes; }

}  // namespace attend::ops
