#include "train/optimiser.hpp"

#include <ATen/Functions.h>

#include <algorithm>

namespace attend {

Optimiser::Optimiser(const torch::nn::Module& model, const OptimiserConfig& config, const RateOf& rate_of)
    : config_(config), rules_(make_rules(config)) {
  for (const DescribedParameter& parameter : described_parameters(model)) {
    if (!parameter.tensor.requires_grad()) continue;
    const UpdateRule& rule = rules_.of(parameter);
    const bool decays = parameter.traits.role != ParameterRole::bias;
    Group& group = group_of(rule, decays ? config.weight_decay : 0, rate_of(parameter.name));
    group.parameters.push_back(parameter);
    const std::vector<UpdateRule::Part> parts = rule.parts();
    group.state.resize(parts.size());
    for (std::size_t p = 0; p < parts.size(); ++p) {
      group.state[p].push_back(parts[p].number ? at::zeros({}, parameter.tensor.options().requires_grad(false))
                                               : at::zeros_like(parameter.tensor));
    }
  }
}

Optimiser::Group& Optimiser::group_of(const UpdateRule& rule, double weight_decay, double rate) {
  const auto found = std::ranges::find_if(groups_, [&](const Group& group) {
    return group.rule == &rule && group.weight_decay == weight_decay && group.rate == rate;
  });
  if (found != groups_.end()) return *found;
  return groups_.emplace_back(Group{.rule = &rule, .weight_decay = weight_decay, .rate = rate});
}

torch::Tensor Optimiser::gradient_norm() const {
  std::vector<torch::Tensor> gradients;
  for (const Group& group : groups_) {
    for (const DescribedParameter& parameter : group.parameters) {
      if (parameter.tensor.grad().defined()) gradients.push_back(parameter.tensor.grad());
    }
  }
  if (gradients.empty()) {
    return groups_.empty() ? at::zeros({})
                           : at::zeros({}, groups_.front().parameters.front().tensor.options().requires_grad(false));
  }
  return at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients)));
}

UpdateSlice Optimiser::with_gradients(const Group& group) {
  UpdateSlice slice{.state = std::vector<std::vector<torch::Tensor>>(group.state.size()),
                    .weight_decay = group.weight_decay};
  for (std::size_t i = 0; i < group.parameters.size(); ++i) {
    const auto& [name, tensor, traits] = group.parameters[i];
    if (!tensor.grad().defined()) continue;
    slice.parameters.push_back(tensor);
    slice.gradients.push_back(tensor.grad());
    slice.stacked.push_back(traits.stacked);
    for (std::size_t p = 0; p < group.state.size(); ++p) slice.state[p].push_back(group.state[p][i]);
  }
  return slice;
}

void Optimiser::step(double learning_rate, double norm) {
  const torch::NoGradGuard no_grad;
  for (const Group& group : groups_) {
    UpdateSlice slice = with_gradients(group);
    if (slice.parameters.empty()) continue;
    slice.learning_rate = learning_rate * group.rate;
    if (config_.clip_norm > 0 && norm > config_.clip_norm) {
      const auto number = slice.parameters.front().options().requires_grad(false);
      slice.divisor = at::full({}, norm / config_.clip_norm, number);
    }
    group.rule->update(slice);
    for (torch::Tensor& parameter : slice.parameters) parameter.mutable_grad().reset();
  }
}

std::vector<std::pair<std::string, torch::Tensor>> Optimiser::state() const {
  std::vector<std::pair<std::string, torch::Tensor>> result;
  for (const Group& group : groups_) {
    const std::vector<UpdateRule::Part> parts = group.rule->parts();
    for (std::size_t i = 0; i < group.parameters.size(); ++i) {
      for (std::size_t p = 0; p < parts.size(); ++p) {
        result.emplace_back(std::string(parts[p].name) + "." + group.parameters[i].name, group.state[p][i]);
      }
    }
  }
  return result;
}

TensorMetadata Optimiser::identity() const { return {{"optimiser", std::string(name_of(config_.optimiser))}}; }

}  // namespace attend
