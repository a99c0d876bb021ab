#include "train/optimiser.hpp"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>

namespace attend {

AdamW::AdamW(const torch::nn::Module& model, const OptimiserConfig& config,
             const std::function<double(const std::string&)>& rate_of)
    : config_(config) {
  for (const auto& named : model.named_parameters()) {
    const torch::Tensor& parameter = named.value();
    if (!parameter.requires_grad()) continue;
    Group& group = group_of(parameter.dim() >= 2 ? config.weight_decay : 0, rate_of(named.key()));
    group.names.push_back(named.key());
    group.parameters.push_back(parameter);
    group.means.push_back(at::zeros_like(parameter));
    group.squares.push_back(at::zeros_like(parameter));
    group.updates.push_back(at::zeros({}, parameter.options().requires_grad(false)));
  }
}

AdamW::Group& AdamW::group_of(double weight_decay, double rate) {
  const auto found = std::ranges::find_if(
      groups_, [&](const Group& group) { return group.weight_decay == weight_decay && group.rate == rate; });
  return found != groups_.end() ? *found : groups_.emplace_back(Group{.weight_decay = weight_decay, .rate = rate});
}

double AdamW::gradient_norm() const {
  std::vector<torch::Tensor> gradients;
  for (const Group& group : groups_) {
    for (const torch::Tensor& parameter : group.parameters) {
      if (parameter.grad().defined()) gradients.push_back(parameter.grad());
    }
  }
  if (gradients.empty()) return 0;
  return at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients))).item<double>();
}

void AdamW::step(double learning_rate, double norm) {
  const torch::NoGradGuard no_grad;
  for (Group& group : groups_) {
    std::vector<torch::Tensor> parameters, gradients, means, squares, updates;
    for (std::size_t i = 0; i < group.parameters.size(); ++i) {
      if (!group.parameters[i].grad().defined()) continue;
      parameters.push_back(group.parameters[i]);
      gradients.push_back(group.parameters[i].grad());
      means.push_back(group.means[i]);
      squares.push_back(group.squares[i]);
      updates.push_back(group.updates[i]);
    }
    if (parameters.empty()) continue;
    at::_foreach_add_(updates, 1);
    // The kernel divides the gradients by grad_scale while reading them, so clipping needs no extra pass.
    std::optional<torch::Tensor> divisor;
    if (config_.clip_norm > 0 && norm > config_.clip_norm) {
      divisor = at::full({}, norm / config_.clip_norm, updates.front().options());
    }
    // After this many updates 1 - beta^n is 1, so the correction has no effect.
    if (!config_.bias_correction) std::ranges::fill(updates, at::full({}, 1e12, updates.front().options()));
    at::_fused_adamw_(parameters, gradients, means, squares, {}, updates, learning_rate * group.rate, config_.beta1,
                      config_.beta2, group.weight_decay, config_.epsilon, /*amsgrad=*/false, /*maximize=*/false,
                      divisor);
    for (torch::Tensor& parameter : parameters) parameter.mutable_grad().reset();
  }
}

std::vector<std::pair<std::string, torch::Tensor>> AdamW::state() const {
  std::vector<std::pair<std::string, torch::Tensor>> result;
  for (const Group& group : groups_) {
    for (std::size_t i = 0; i < group.names.size(); ++i) {
      result.emplace_back("mean." + group.names[i], group.means[i]);
      result.emplace_back("square." + group.names[i], group.squares[i]);
      result.emplace_back("updates." + group.names[i], group.updates[i]);
    }
  }
  return result;
}

}  // namespace attend
