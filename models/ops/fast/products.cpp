#include "models/ops/fast/products.hpp"

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdlib>
#include <optional>
#include <string_view>

namespace attend::ops::products {
namespace {

using torch::Tensor;
using LinearPointwise = Tensor(const Tensor&, const Tensor&, const std::optional<Tensor>&, std::string_view,
                               c10::List<std::optional<at::Scalar>>, std::optional<std::string_view>);
using ReorderLinearWeight = Tensor(const Tensor&, std::optional<std::int64_t>);

template <class Signature>
std::optional<c10::TypedOperatorHandle<Signature>> find(const char* name) {
  const auto schema = c10::Dispatcher::singleton().findSchema({name, ""});
  if (!schema) return std::nullopt;
  return schema->typed<Signature>();
}

const auto& linear_pointwise() {
  static const auto op = find<LinearPointwise>("mkldnn::_linear_pointwise");
  return op;
}

const auto& reorder_linear_weight() {
  static const auto op = find<ReorderLinearWeight>("mkldnn::_reorder_linear_weight");
  return op;
}

bool takes_onednn(at::ScalarType type) {
#if defined(__x86_64__)
  return multiplies_bf16() && (type == at::kBFloat16 || __builtin_cpu_is("amd"));
#else
  return false;
#endif
}

Tensor linear_onednn(const Tensor& x, const Tensor& weight, const Tensor& bias, Activation activation) {
  static const c10::List<std::optional<at::Scalar>> no_scalars;
  std::string_view name = "none";
  if (activation == Activation::relu) name = "relu";
  if (activation == Activation::tanh) name = "tanh";
  return linear_pointwise()->call(x, weight, bias.defined() ? std::optional<Tensor>(bias) : std::nullopt, name,
                                  no_scalars, std::nullopt);
}

}  // namespace

bool multiplies_bf16() {
#if defined(__x86_64__)
  // The CPU features that oneDNN requires for bf16.
  static const bool has_onednn = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                                 __builtin_cpu_supports("avx512dq") && linear_pointwise() && reorder_linear_weight();
  return has_onednn;
#else
  return false;
#endif
}

void set_primitive_cache(std::int64_t parameters, bool sizes_recur) {
  const char* count = "64";                   // enough for one update
  if (parameters >= 40'000'000) count = "1";  // they take megabytes each
  if (parameters < 8'000'000 && sizes_recur) count = "2048";
  setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", count, 0);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Activation activation) {
  if (x.size(0) == 0) return at::zeros({0, weight.size(0)}, x.options());
  if (takes_onednn(x.scalar_type())) return linear_onednn(x, weight, bias, activation);
  Tensor y = bias.defined() ? at::addmm(bias, x, weight.t()) : at::mm(x, weight.t());
  if (activation == Activation::relu) at::relu_(y);
  if (activation == Activation::tanh) at::tanh_(y);
  return y;
}

// at::mm passes bf16 to oneDNN, too, and fp32 to MKL. Both were faster for this product than calling oneDNN directly.
Tensor rounded_outer(const Tensor& y, const Tensor& x) {
  if (y.size(0) == 0) return at::zeros({y.size(1), x.size(1)}, y.options());
  return at::mm(y.t(), x);
}

Tensor outer(const Tensor& y, const Tensor& x) { return rounded_outer(y, x).to(at::kFloat); }

Tensor pack(const Tensor& weight) { return reorder_linear_weight()->call(weight, std::nullopt); }

}  // namespace attend::ops::products
