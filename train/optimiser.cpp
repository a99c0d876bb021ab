#include "train/optimiser.hpp"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "models/ops/ops.hpp"

namespace attend {

void resolve_optimiser(OptimiserConfig& optimiser, ScheduleConfig& schedule) {
  const OptimiserKind kind = optimiser.optimiser;
  if (!schedule.schedule) {
    schedule.schedule = kind == OptimiserKind::adadelta ? ScheduleKind::constant
                        : kind == OptimiserKind::sgd    ? ScheduleKind::halving
                                                        : ScheduleKind::inverse_sqrt;
  }
  schedule.decay_last = schedule.chosen_decay();
  if (kind != OptimiserKind::sgd) optimiser.epsilon = optimiser.chosen_epsilon();
  if (kind != OptimiserKind::adadelta && kind != OptimiserKind::sgd) return;
  if (!schedule.learning_rate) schedule.learning_rate = 1;
  if (!schedule.warmup_steps) schedule.warmup_steps = 0;
}

// Parameters with a gradient that share a rule, decay and rate.
struct UpdateSlice {
  std::vector<torch::Tensor> parameters = {}, gradients = {};
  std::vector<std::int64_t> stacked = {};              // ParameterTraits
  std::vector<std::vector<torch::Tensor>> state = {};  // of each part
  double weight_decay = 0;
  double learning_rate = 0;
  std::optional<torch::Tensor> divisor = {};  // of the gradients: norm / clip-norm, if above 1
};

class UpdateRule {
 public:
  // A kind of state with one tensor per parameter: of its shape, or a single number, as the fused kernels count
  // updates.
  struct Part {
    std::string_view name;
    bool number = false;
  };

  virtual ~UpdateRule() = default;
  virtual std::vector<Part> parts() const = 0;
  // Updates parameters and state in place, and may overwrite the gradients.
  virtual void update(UpdateSlice& slice) const = 0;
};

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

// At least two rows and columns, and neither a table nor an output.
bool is_hidden_matrix(const DescribedParameter& parameter) {
  const torch::Tensor& w = parameter.tensor;
  if (parameter.traits.role != ParameterRole::matrix || w.dim() < 2) return false;
  const std::int64_t columns = w.size(-1), rows = w.numel() / columns / parameter.traits.stacked;
  return rows > 1 && columns > 1;
}

}  // namespace

Optimiser::Optimiser(const torch::nn::Module& model, const OptimiserConfig& config, const RateOf& rate_of)
    : config_(config) {
  std::shared_ptr<const UpdateRule> of_hidden_matrices, of_others;
  switch (config.optimiser) {
    case OptimiserKind::adamw: of_others = std::make_shared<AdamW>(config); break;
    case OptimiserKind::adadelta: of_others = std::make_shared<Adadelta>(config); break;
    case OptimiserKind::sgd: of_others = std::make_shared<Sgd>(); break;
    case OptimiserKind::muon:
      of_hidden_matrices = std::make_shared<Muon>(config);
      of_others = std::make_shared<AdamW>(config);
      break;
  }
  for (const DescribedParameter& parameter : described_parameters(model)) {
    if (!parameter.tensor.requires_grad()) continue;
    const auto& rule = of_hidden_matrices && is_hidden_matrix(parameter) ? of_hidden_matrices : of_others;
    const double decay = parameter.traits.role != ParameterRole::bias ? config.weight_decay : 0;
    const double rate = rate_of(parameter.name);
    auto group = std::ranges::find_if(groups_, [&](const Group& made) {
      return made.rule == rule && made.weight_decay == decay && made.rate == rate;
    });
    if (group == groups_.end()) {
      group = groups_.insert(group, Group{.rule = rule, .weight_decay = decay, .rate = rate});
    }
    group->parameters.push_back(parameter);
    const std::vector<UpdateRule::Part> parts = rule->parts();
    group->state.resize(parts.size());
    for (std::size_t p = 0; p < parts.size(); ++p) {
      group->state[p].push_back(parts[p].number ? at::zeros({}, parameter.tensor.options().requires_grad(false))
                                                : at::zeros_like(parameter.tensor));
    }
  }
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

void Optimiser::step(double learning_rate, double norm) {
  const torch::NoGradGuard no_grad;
  for (const Group& group : groups_) {
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
