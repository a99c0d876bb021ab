// The rules by which optimisers update parameters. w is a parameter, g its clipped gradient (Pascanu et al. 2013), r
// the learning rate, and d the weight decay, which is 0 for biases, norms and the like (ParameterRole). All operations
// but those of muon are element-wise.
//
//   adamw     m = β1 m + (1 - β1) g,  v = β2 v + (1 - β2) g²,  w = (1 - r d) w - r m̂ / (sqrt(v̂) + ε)
//             with m̂ = m / (1 - β1^n), v̂ = v / (1 - β2^n) at the n-th update of the parameter (Kingma and Ba 2015,
//             arXiv 1412.6980, "Adam", if d = 0; decoupled decay: Loshchilov and Hutter 2019, 1711.05101)
//   adadelta  v = ρ v + (1 - ρ) g²,  x = g sqrt(u + ε) / sqrt(v + ε),  u = ρ u + (1 - ρ) x²,  w = w - r x, with d w
//             added to g (Zeiler 2012, 1212.5701; ρ and ε as Bahdanau et al. 2015, 1409.0473, appendix B)
//   sgd       w = w - r g, with d w added to g; without momentum, as Luong et al. 2015 (1508.04025, 4.1)
//   muon      for each hidden matrix w of R rows and C columns, at least two of each: m = μ m + (1 - μ) g,
//             w = (1 - r d) w - 0.2 sqrt(max(R, C)) r O,  O = orthogonal_factors((1 - μ) g + μ m) (models/ops/ops.hpp)
//             Matrices stacked in one parameter, such as q | k | v or the gates of a cell, have an O each, in bf16
//             where the processor has it, whatever --precision. Outputs, tables, biases and norms are updated by adamw.
//             (Jordan et al. 2024; the factor, with which an update is as large as one of adamw, so that its r and d
//             carry over: Liu et al. 2025, "Moonlight", 2502.16982, section 2.2)
//
// Of g = (0.03 0; 0 0.01) in the first update, with r = 0.1 and d = 0: adamw subtracts (0.1 0; 0 0.1), adadelta
// (0.0004 0; 0 0.0004), sgd 0.1 g, and muon 0.1 · 0.2 · sqrt(2) · (0.75 0; 0 1.13) = (0.021 0; 0 0.032).
//
// As in torch.optim, a parameter without a gradient is skipped and its updates are not counted, so the bias correction
// of a head whose training starts late uses its own number of updates. Losses here are means over tokens; that of Luong
// et al. is a sum over the tokens of a sentence, so without clipping, an equal step of sgd needs a rate larger by a
// factor of the sentence length.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/options.hpp"
#include "core/safetensors.hpp"
#include "models/layers/layers.hpp"
#include "train/schedule.hpp"

namespace attend {

class UpdateRule;

enum class OptimiserKind { adamw, adadelta, sgd, muon };
template <>
inline constexpr auto kEnumNames<OptimiserKind> = std::to_array<EnumName<OptimiserKind>>({
    {OptimiserKind::adamw, "adamw"},
    {OptimiserKind::adadelta, "adadelta"},
    {OptimiserKind::sgd, "sgd"},
    {OptimiserKind::muon, "muon"},
});

struct OptimiserConfig {
  OptimiserKind optimiser = OptimiserKind::adamw;
  double beta1 = 0.9;
  double beta2 = 0.98;
  double rho = 0.95;
  double momentum = 0.95;
  std::optional<double> epsilon = {};
  double weight_decay = 0;
  double clip_norm = 1;

  static constexpr Condition kAdam = {"optimiser", {"adamw", "muon"}};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("optimiser", self.optimiser, {.help = "optimiser", .common = true});
    visit("beta1", self.beta1,
          {.help = "decay of the running mean of gradients", .min = 0, .max = 0.9999999, .only = kAdam});
    visit("beta2", self.beta2,
          {.help = "decay of the running mean of squared gradients", .min = 0, .max = 0.9999999, .only = kAdam});
    visit("rho", self.rho,
          {.help = "decay of the running means of squared gradients and squared steps",
           .min = 0,
           .max = 0.9999999,
           .only = {"optimiser", {"adadelta"}}});
    visit("momentum", self.momentum,
          {.help = "decay of the running mean of gradients of hidden matrices",
           .min = 0,
           .max = 0.9999999,
           .only = {"optimiser", {"muon"}}});
    visit("epsilon", self.epsilon,
          {.help = "adamw, muon: added to the square root of the second moment; adadelta: added to both running means; "
                   "auto: 1e-8, for adadelta 1e-6",
           .min = 1e-16,
           .max = 1,
           .only = {"optimiser", {"adamw", "adadelta", "muon"}}});
    visit("weight-decay", self.weight_decay,
          {.help = "weight decay of matrices (not of norms and biases); decoupled in adamw and muon, added to the "
                   "gradient otherwise",
           .min = 0,
           .max = 1,
           .common = true});
    visit("clip-norm", self.clip_norm, {.help = "maximum global gradient norm; 0: no clipping", .min = 0});
  }

  // The value of `epsilon`, or the optimiser's default.
  double chosen_epsilon() const { return epsilon.value_or(optimiser == OptimiserKind::adadelta ? 1e-6 : 1e-8); }
};

// Resolves the settings that follow from the optimiser alone: ε; the schedule if it is auto (inverse-sqrt for adamw and
// muon, constant for adadelta, halving for sgd) and its decay; for adadelta and sgd the learning rate, 1, without
// warm-up.
void resolve_optimiser(OptimiserConfig& optimiser, ScheduleConfig& schedule);

// The parameters of a model that a training updates, in groups of one rule, weight decay and rate; with gradients
// clipped by their global norm. An optimiser owns the moments, not the parameters.
//
//   loss.backward();
//   const double norm = optimiser.gradient_norm().item<double>();  // the caller checks that it is finite
//   optimiser.step(rate, norm);                     // updates the parameters and frees the gradients
class Optimiser {
 public:
  // The learning-rate factor of a parameter.
  using RateOf = std::function<double(const std::string&)>;

  // Parameters that do not require a gradient are ignored.
  explicit Optimiser(
      const torch::nn::Module& model, const OptimiserConfig& config,
      const RateOf& rate_of = [](const std::string&) { return 1.0; });

  // The global Euclidean norm of all gradients, 0 if there are none: an fp32 scalar on their device.
  torch::Tensor gradient_norm() const;

  // One update. Gradients are scaled down to clip-norm if `norm` exceeds it, and freed.
  void step(double learning_rate, double norm);

  // The state as tensors named "PART.PARAMETER": the optimiser's own, so a state is loaded by copying into them.
  std::vector<std::pair<std::string, torch::Tensor>> state() const;
  // The name of the optimiser, recorded in the file with its state.
  TensorMetadata identity() const;

 private:
  struct Group {
    std::shared_ptr<const UpdateRule> rule;
    double weight_decay = 0;
    double rate = 1;  // factor of the learning rate
    std::vector<DescribedParameter> parameters = {};
    std::vector<std::vector<torch::Tensor>> state = {};  // of each part
  };

  OptimiserConfig config_;
  std::vector<Group> groups_;
};

}  // namespace attend
