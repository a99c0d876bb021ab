// Support of autograd functions: what the forward pass saves, optional tensors, and losses that are computed together
// with their gradients.
#pragma once

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

// A loss with the gradients of its inputs, which were computed with it. The backward pass scales them by its own
// gradient, in place, so that autograd refuses a second one.
class ComputedLoss : public torch::autograd::Function<ComputedLoss> {
 public:
  struct Result {
    Tensor loss;
    variable_list gradients;
  };
  static Tensor forward(AutogradContext* context, at::TensorList /*inputs*/, const Result& result) {
    context->save_for_backward(result.gradients);
    return result.loss;
  }
  static variable_list backward(AutogradContext* context, const variable_list& of_loss) {
    variable_list gradients = context->get_saved_variables();
    for (const Tensor& gradient : gradients) gradient.mul_(of_loss[0]);
    gradients.emplace_back();  // none for `result`
    return gradients;
  }
};

// `loss` as a function of those inputs whose gradients are defined.
inline Tensor with_gradients(const Tensor& loss, const variable_list& inputs, const variable_list& gradients) {
  variable_list learning;
  ComputedLoss::Result result{.loss = loss, .gradients = {}};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!gradients[i].defined()) continue;
    learning.push_back(inputs[i]);
    result.gradients.push_back(gradients[i]);
  }
  return ComputedLoss::apply(at::TensorList(learning), result);
}

}  // namespace attend::ops
