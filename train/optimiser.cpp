#include "train/optimiser.hpp"

#include <ATen/Functions.h>
#include <ATen/ops/_fused_adam_ops.h>
#include <ATen/ops/_fused_adamw_ops.h>

#include <algorithm>

#include "models/layers/layers.hpp"

namespace attend {
namespace {

ScheduleKind usual_schedule(OptimiserKind kind) {
  if (kind == OptimiserKind::adadelta) return ScheduleKind::constant;
  return kind == OptimiserKind::sgd ? ScheduleKind::halving : ScheduleKind::inverse_sqrt;
}

}  // namespace

void resolve_optimiser(OptimiserConfig& optimiser, ScheduleConfig& schedule) {
  const OptimiserKind kind = optimiser.optimiser;
  if (!schedule.schedule) schedule.schedule = usual_schedule(kind);
  if (kind != OptimiserKind::sgd) optimiser.epsilon = optimiser.chosen_epsilon();
  if (kind != OptimiserKind::adadelta && kind != OptimiserKind::sgd) return;
  if (!schedule.learning_rate) schedule.learning_rate = 1;
  if (!schedule.warmup_steps) schedule.warmup_steps = 0;
}

Optimiser::Optimiser(const torch::nn::Module& model, const OptimiserConfig& config, const RateOf& rate_of,
                     std::vector<Part> parts)
    : config_(config), parts_(std::move(parts)) {
  const std::vector<torch::Tensor> biases = biases_of(model);
  const auto is_bias = [&](const torch::Tensor& parameter) {
    return std::ranges::any_of(biases, [&](const torch::Tensor& bias) { return bias.is_same(parameter); });
  };
  for (const auto& named : model.named_parameters()) {
    const torch::Tensor& parameter = named.value();
    if (!parameter.requires_grad()) continue;
    Group& group = group_of(is_bias(parameter) ? 0 : config.weight_decay, rate_of(named.key()));
    group.names.push_back(named.key());
    group.parameters.push_back(parameter);
    group.state.resize(parts_.size());
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      group.state[p].push_back(parts_[p].number ? at::zeros({}, parameter.options().requires_grad(false))
                                                : at::zeros_like(parameter));
    }
  }
}

Optimiser::Group& Optimiser::group_of(double weight_decay, double rate) {
  const auto found = std::ranges::find_if(
      groups_, [&](const Group& group) { return group.weight_decay == weight_decay && group.rate == rate; });
  return found != groups_.end() ? *found : groups_.emplace_back(Group{.weight_decay = weight_decay, .rate = rate});
}

double Optimiser::gradient_norm() const {
  std::vector<torch::Tensor> gradients;
  for (const Group& group : groups_) {
    for (const torch::Tensor& parameter : group.parameters) {
      if (parameter.grad().defined()) gradients.push_back(parameter.grad());
    }
  }
  if (gradients.empty()) return 0;
  return at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients))).item<double>();
}

Optimiser::Slice Optimiser::with_gradients(const Group& group) {
  Slice slice{.state = std::vector<std::vector<torch::Tensor>>(group.state.size()), .weight_decay = group.weight_decay};
  for (std::size_t i = 0; i < group.parameters.size(); ++i) {
    if (!group.parameters[i].grad().defined()) continue;
    slice.parameters.push_back(group.parameters[i]);
    slice.gradients.push_back(group.parameters[i].grad());
    for (std::size_t p = 0; p < group.state.size(); ++p) slice.state[p].push_back(group.state[p][i]);
  }
  return slice;
}

void Optimiser::step(double learning_rate, double norm) {
  const torch::NoGradGuard no_grad;
  for (const Group& group : groups_) {
    Slice slice = with_gradients(group);
    if (slice.parameters.empty()) continue;
    slice.learning_rate = learning_rate * group.rate;
    if (config_.clip_norm > 0 && norm > config_.clip_norm) {
      const auto number = slice.parameters.front().options().requires_grad(false);
      slice.divisor = at::full({}, norm / config_.clip_norm, number);
    }
    update(slice);
    for (torch::Tensor& parameter : slice.parameters) parameter.mutable_grad().reset();
  }
}

std::vector<std::pair<std::string, torch::Tensor>> Optimiser::state() const {
  std::vector<std::pair<std::string, torch::Tensor>> result;
  for (const Group& group : groups_) {
    for (std::size_t i = 0; i < group.names.size(); ++i) {
      for (std::size_t p = 0; p < parts_.size(); ++p) {
        result.emplace_back(std::string(parts_[p].name) + "." + group.names[i], group.state[p][i]);
      }
    }
  }
  return result;
}

TensorMetadata Optimiser::identity() const { return {{"optimiser", std::string(name_of(config_.optimiser))}}; }

namespace {

// adam and adamw, with one fused kernel per group. Parts: "mean" m, "square" v, and "updates", the number n of updates
// of the parameter.
class Adam : public Optimiser {
 public:
  Adam(const torch::nn::Module& model, const OptimiserConfig& config, const RateOf& rate_of)
      : Optimiser(model, config, rate_of, {{.name = "mean"}, {.name = "square"}, {.name = "updates", .number = true}}) {
  }

 protected:
  void update(Slice& slice) const override {
    std::vector<torch::Tensor>& updates = slice.state[2];
    at::_foreach_add_(updates, 1);
    // With this n, 1 - β^n is 1, so the correction has no effect.
    if (!config_.bias_correction) std::ranges::fill(updates, at::full({}, 1e12, updates.front().options()));
    // The kernels divide the gradients by grad_scale while reading them, so clipping needs no extra pass.
    const auto kernel =
        config_.optimiser == OptimiserKind::adamw ? at::_ops::_fused_adamw_::call : at::_ops::_fused_adam_::call;
    kernel(slice.parameters, slice.gradients, slice.state[0], slice.state[1], {}, updates, slice.learning_rate,
           config_.beta1, config_.beta2, slice.weight_decay, config_.chosen_epsilon(), /*amsgrad=*/false,
           /*maximize=*/false, /*grad_scale=*/slice.divisor, /*found_inf=*/{});
  }
};

// Parts: "square" v, the mean of squared gradients, and "step" u, the mean of squared steps.
class Adadelta : public Optimiser {
 public:
  Adadelta(const torch::nn::Module& model, const OptimiserConfig& config, const RateOf& rate_of)
      : Optimiser(model, config, rate_of, {{.name = "square"}, {.name = "step"}}) {}

 protected:
  void update(Slice& slice) const override {
    const double rho = config_.rho, epsilon = config_.chosen_epsilon();
    std::vector<torch::Tensor>&g = slice.gradients, &square = slice.state[0], &step = slice.state[1];
    if (slice.divisor) at::_foreach_div_(g, *slice.divisor);
    if (slice.weight_decay > 0) at::_foreach_add_(g, slice.parameters, slice.weight_decay);
    at::_foreach_mul_(square, rho);
    at::_foreach_addcmul_(square, g, g, 1 - rho);
    std::vector<torch::Tensor> x = at::_foreach_add(step, epsilon), root = at::_foreach_add(square, epsilon);
    at::_foreach_div_(x, root);
    at::_foreach_sqrt_(x);
    at::_foreach_mul_(x, g);
    at::_foreach_mul_(step, rho);
    at::_foreach_addcmul_(step, x, x, 1 - rho);
    at::_foreach_add_(slice.parameters, x, -slice.learning_rate);
  }
};

class Sgd : public Optimiser {
 public:
  Sgd(const torch::nn::Module& model, const OptimiserConfig& config, const RateOf& rate_of)
      : Optimiser(model, config, rate_of, {}) {}

 protected:
  void update(Slice& slice) const override {
    at::_fused_sgd_(slice.parameters, slice.gradients, /*momentum_buffer_list=*/{}, slice.weight_decay, /*momentum=*/0,
                    slice.learning_rate, /*dampening=*/0, /*nesterov=*/false, /*maximize=*/false,
                    /*is_first_step=*/false, slice.divisor);
  }
};

}  // namespace

std::unique_ptr<Optimiser> make_optimiser(const torch::nn::Module& model, const OptimiserConfig& config,
                                          const Optimiser::RateOf& rate_of) {
  switch (config.optimiser) {
    case OptimiserKind::adamw:
    case OptimiserKind::adam: return std::make_unique<Adam>(model, config, rate_of);
    case OptimiserKind::adadelta: return std::make_unique<Adadelta>(model, config, rate_of);
    case OptimiserKind::sgd: return std::make_unique<Sgd>(model, config, rate_of);
  }
  return nullptr;
}

}  // namespace attend
