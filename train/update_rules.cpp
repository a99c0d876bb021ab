#include "train/update_rules.hpp"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "models/ops/ops.hpp"

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
  schedule.decay_last = schedule.chosen_decay();
  if (kind != OptimiserKind::sgd) optimiser.epsilon = optimiser.chosen_epsilon();
  if (kind != OptimiserKind::adadelta && kind != OptimiserKind::sgd) return;
  if (!schedule.learning_rate) schedule.learning_rate = 1;
  if (!schedule.warmup_steps) schedule.warmup_steps = 0;
}

namespace {

// Of adamw, and of muon for parameters other than hidden matrices, with one fused kernel per group. Parts: "mean" m,
// "square" v, and "updates", the number n of updates of the parameter.
class AdamW : public UpdateRule {
 public:
  explicit AdamW(const OptimiserConfig& config) : config_(config) {}
  std::vector<Part> parts() const override {
    return {{.name = "mean"}, {.name = "square"}, {.name = "updates", .number = true}};
  }
  void update(UpdateSlice& slice) const override {
    std::vector<torch::Tensor>& updates = slice.state[2];
    at::_foreach_add_(updates, 1);
    // The kernels divide the gradients by grad_scale while reading them, so clipping needs no extra pass.
    at::_fused_adamw_(slice.parameters, slice.gradients, slice.state[0], slice.state[1], {}, updates,
                      slice.learning_rate, config_.beta1, config_.beta2, slice.weight_decay, config_.chosen_epsilon(),
                      /*amsgrad=*/false, /*maximize=*/false, /*grad_scale=*/slice.divisor, /*found_inf=*/{});
  }

 private:
  OptimiserConfig config_;
};

// Parts: "square" v, the mean of squared gradients, and "step" u, the mean of squared steps.
class Adadelta : public UpdateRule {
 public:
  explicit Adadelta(const OptimiserConfig& config) : config_(config) {}
  std::vector<Part> parts() const override { return {{.name = "square"}, {.name = "step"}}; }
  void update(UpdateSlice& slice) const override {
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

 private:
  OptimiserConfig config_;
};

class Sgd : public UpdateRule {
 public:
  std::vector<Part> parts() const override { return {}; }
  void update(UpdateSlice& slice) const override {
    at::_fused_sgd_(slice.parameters, slice.gradients, /*momentum_buffer_list=*/{}, slice.weight_decay, /*momentum=*/0,
                    slice.learning_rate, /*dampening=*/0, /*nesterov=*/false, /*maximize=*/false,
                    /*is_first_step=*/false, slice.divisor);
  }
};

// Part: "mean" m.
class Muon : public UpdateRule {
 public:
  explicit Muon(const OptimiserConfig& config) : momentum_(config.momentum) {}
  std::vector<Part> parts() const override { return {{.name = "mean"}}; }
  void update(UpdateSlice& slice) const override {
    std::vector<torch::Tensor>&g = slice.gradients, &mean = slice.state[0];
    if (slice.divisor) at::_foreach_div_(g, *slice.divisor);
    at::_foreach_lerp_(mean, g, 1 - momentum_);
    at::_foreach_lerp_(g, mean, momentum_);
    at::_foreach_mul_(slice.parameters, 1 - slice.learning_rate * slice.weight_decay);
    std::map<std::pair<std::int64_t, std::int64_t>, Batch> batches;  // by shape
    for (std::size_t i = 0; i < g.size(); ++i) {
      const std::int64_t columns = g[i].size(-1);
      const torch::Tensor matrices = g[i].reshape({slice.stacked[i], -1, columns});
      Batch& batch = batches[{matrices.size(1), columns}];
      batch.directions.push_back(matrices);
      batch.parameters.push_back(slice.parameters[i]);
      batch.numbers += matrices.numel();
      if (batch.numbers >= kMostNumbers) apply(std::exchange(batch, {}), slice.learning_rate);
    }
    for (const auto& [shape, batch] : batches) apply(batch, slice.learning_rate);
  }

 private:
  static constexpr std::int64_t kMostNumbers = 4'000'000;  // together, which limits the memory

  struct Batch {
    std::vector<torch::Tensor> directions, parameters;
    std::int64_t numbers = 0;
  };

  static void apply(const Batch& batch, double learning_rate) {
    if (batch.directions.empty()) return;
    const torch::Tensor factors = ops::orthogonal_factors(at::cat(batch.directions));
    const double scale = 0.2 * std::sqrt(static_cast<double>(std::max(factors.size(1), factors.size(2))));
    std::int64_t first = 0;
    for (std::size_t i = 0; i < batch.parameters.size(); ++i) {
      const torch::Tensor& parameter = batch.parameters[i];
      const std::int64_t count = batch.directions[i].size(0);
      parameter.sub_(factors.narrow(0, first, count).reshape(parameter.sizes()), learning_rate * scale);
      first += count;
    }
  }

  double momentum_;
};

bool is_hidden_matrix(const DescribedParameter& parameter) {
  const torch::Tensor& w = parameter.tensor;
  if (parameter.traits.role != ParameterRole::matrix || w.dim() < 2) return false;
  const std::int64_t columns = w.size(-1), rows = w.numel() / columns / parameter.traits.stacked;
  return rows > 1 && columns > 1;
}

}  // namespace

const UpdateRule& UpdateRules::of(const DescribedParameter& parameter) const {
  return is_hidden_matrix(parameter) ? *of_hidden_matrices : *of_others;
}

UpdateRules make_rules(const OptimiserConfig& config) {
  const auto for_all = [](const std::shared_ptr<const UpdateRule>& rule) { return UpdateRules{rule, rule}; };
  switch (config.optimiser) {
    case OptimiserKind::adamw: return for_all(std::make_shared<AdamW>(config));
    case OptimiserKind::adadelta: return for_all(std::make_shared<Adadelta>(config));
    case OptimiserKind::sgd: return for_all(std::make_shared<Sgd>());
    case OptimiserKind::muon: return {std::make_shared<Muon>(config), std::make_shared<AdamW>(config)};
  }
  return {};
}

}  // namespace attend
