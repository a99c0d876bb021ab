// Support of autograd functions: what the forward pass saves, optional tensors, and losses whose forward pass has
// already computed the gradients.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>

#include <cstddef>
#include <optional>
#include <utility>

namespace attend::ops {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// A value that the forward pass of an autograd function saves for the backward pass, which sees it as `held`.
template <class T>
struct Held : torch::CustomClassHolder {
  explicit Held(T saved) : value(std::move(saved)) {}
  T value;
};
template <class T>
T& hold(AutogradContext& context, T value) {
  const auto saved = c10::make_intrusive<Held<T>>(std::move(value));
  context.saved_data["held"] = c10::IValue::make_capsule(saved);
  return saved->value;
}
template <class T>
const T& held(AutogradContext& context) {
  return static_cast<const Held<T>&>(*context.saved_data["held"].toCapsule()).value;
}

// Autograd functions take optional tensors, ops undefined ones.
inline std::optional<Tensor> optional(const Tensor& x) { return x.defined() ? std::optional(x) : std::nullopt; }
inline Tensor defined_or_not(const std::optional<Tensor>& x) { return x.value_or(Tensor()); }

// True if one of the tensors needs a gradient.
template <class... Tensors>
bool wants_gradient(const Tensors&... x) {
  return at::GradMode::is_enabled() && ((x.defined() && x.requires_grad()) || ...);
}

// Scales the gradients that the forward pass saved by that of the result; the other `inputs` have none. In place, so
// that autograd refuses a second backward pass.
inline variable_list saved_gradients(AutogradContext* context, const Tensor& of_result, std::size_t inputs) {
  variable_list result = context->get_saved_variables();
  for (Tensor& gradient : result) {
    if (gradient.defined()) gradient.mul_(of_result);
  }
  result.resize(inputs);
  return result;
}

}  // namespace attend::ops
