// The optimisers, with gradients clipped by their global norm (Pascanu et al. 2013). w is a parameter, g its clipped
// gradient, r the learning rate, and d the weight decay, which is 0 for biases, norms and the like (ParameterRole).
// All operations are element-wise.
//
//   adamw     m = β1 m + (1 - β1) g,  v = β2 v + (1 - β2) g²,  w = (1 - r d) w - r m̂ / (sqrt(v̂) + ε)
//             with m̂ = m / (1 - β1^n), v̂ = v / (1 - β2^n) at the n-th update of the parameter (Kingma and Ba 2015,
//             arXiv 1412.6980; decoupled decay: Loshchilov and Hutter 2019, 1711.05101)
//   adam      the same, but with d w added to g instead of the factor (1 - r d)
//   adadelta  v = ρ v + (1 - ρ) g²,  x = g sqrt(u + ε) / sqrt(v + ε),  u = ρ u + (1 - ρ) x²,  w = w - r x, with d w
//             added to g (Zeiler 2012, 1212.5701; ρ and ε as Bahdanau et al. 2015, 1409.0473, appendix B)
//   sgd       w = w - r g, with d w added to g; without momentum, as Luong et al. 2015 (1508.04025, 4.1)
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
#include <string_view>
#include <utility>
#include <vector>

#include "core/options.hpp"
#include "core/safetensors.hpp"
#include "train/schedule.hpp"

namespace attend {

enum class OptimiserKind { adamw, adam, adadelta, sgd };
template <>
inline constexpr auto kEnumNames<OptimiserKind> = std::to_array<EnumName<OptimiserKind>>({
    {OptimiserKind::adamw, "adamw"},
    {OptimiserKind::adam, "adam"},
    {OptimiserKind::adadelta, "adadelta"},
    {OptimiserKind::sgd, "sgd"},
});

struct OptimiserConfig {
  OptimiserKind optimiser = OptimiserKind::adamw;
  double beta1 = 0.9;
  double beta2 = 0.98;
  double rho = 0.95;
  std::optional<double> epsilon = {};
  double weight_decay = 0;
  double clip_norm = 1;
  bool bias_correction = true;

  static constexpr Condition kAdam = {"optimiser", {"adamw", "adam"}};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("optimiser", self.optimiser, {.help = "optimiser"});
    visit("beta1", self.beta1,
          {.help = "decay of the running mean of gradients", .min = 0, .max = 0.9999999, .only = kAdam});
    visit("beta2", self.beta2,
          {.help = "decay of the running mean of squared gradients", .min = 0, .max = 0.9999999, .only = kAdam});
    visit("rho", self.rho,
          {.help = "decay of the running means of squared gradients and squared steps",
           .min = 0,
           .max = 0.9999999,
           .only = {"optimiser", {"adadelta"}}});
    visit("epsilon", self.epsilon,
          {.help = "adamw, adam: added to the square root of the second moment; adadelta: added to both running means; "
                   "auto: 1e-8, for adadelta 1e-6",
           .min = 1e-16,
           .max = 1,
           .only = {"optimiser", {"adamw", "adam", "adadelta"}}});
    visit(
        "weight-decay", self.weight_decay,
        {.help =
             "weight decay of matrices (not of norms and biases); decoupled in adamw, added to the gradient otherwise",
         .min = 0,
         .max = 1});
    visit("bias-correction", self.bias_correction,
          {.help = "correct the bias of moments that start at zero; the original BERT optimiser does not",
           .only = kAdam});
    visit("clip-norm", self.clip_norm, {.help = "maximum global gradient norm; 0: no clipping", .min = 0});
  }

  // The value of `epsilon`, or the optimiser's default.
  double chosen_epsilon() const { return epsilon.value_or(optimiser == OptimiserKind::adadelta ? 1e-6 : 1e-8); }
};

// Resolves the settings that follow from the optimiser alone: ε; the schedule if it is auto (inverse-sqrt for Adam,
// constant for adadelta, halving for sgd); and for adadelta and sgd the learning rate, 1, without warm-up.
void resolve_optimiser(OptimiserConfig& optimiser, ScheduleConfig& schedule);

// An optimiser owns the moments, not the parameters.
//
//   loss.backward();
//   const double norm = optimiser.gradient_norm();  // the caller checks that it is finite
//   optimiser.step(rate, norm);                     // updates the parameters and frees the gradients
class Optimiser {
 public:
  // The learning-rate factor of a parameter.
  using RateOf = std::function<double(const std::string&)>;

  virtual ~Optimiser() = default;

  // The global Euclidean norm of all gradients, 0 if there are none. Waits for the device.
  double gradient_norm() const;

  // One update. Gradients are scaled down to clip-norm if `norm` exceeds it, and freed.
  void step(double learning_rate, double norm);

  // The state as tensors named "PART.PARAMETER": the optimiser's own, so a state is loaded by copying into them.
  std::vector<std::pair<std::string, torch::Tensor>> state() const;
  // The name of the optimiser, recorded in the file with its state.
  TensorMetadata identity() const;

 protected:
  // A kind of state with one tensor per parameter: of its shape, or a single number, as the fused kernels count
  // updates.
  struct Part {
    std::string_view name;
    bool number = false;
  };

  // Parameters that have a gradient in this update and share decay and rate.
  struct Slice {
    std::vector<torch::Tensor> parameters = {}, gradients = {};
    std::vector<std::vector<torch::Tensor>> state = {};  // of each part
    double weight_decay = 0;
    double learning_rate = 0;
    std::optional<torch::Tensor> divisor = {};  // of the gradients: norm / clip-norm, if above 1
  };

  // Parameters that do not require a gradient are ignored.
  Optimiser(const torch::nn::Module& model, const OptimiserConfig& config, const RateOf& rate_of,
            std::vector<Part> parts);

  // Updates parameters and state in place.
  virtual void update(Slice& slice) const = 0;

  OptimiserConfig config_;

 private:
  struct Group {
    double weight_decay = 0;
    double rate = 1;  // factor of the learning rate
    std::vector<std::string> names = {};
    std::vector<torch::Tensor> parameters = {};
    std::vector<std::vector<torch::Tensor>> state = {};  // of each part
  };

  Group& group_of(double weight_decay, double rate);
  static Slice with_gradients(const Group& group);

  std::vector<Part> parts_;
  std::vector<Group> groups_;
};

std::unique_ptr<Optimiser> make_optimiser(
    const torch::nn::Module& model, const OptimiserConfig& config,
    const Optimiser::RateOf& rate_of = [](const std::string&) { return 1.0; });

}  // namespace attend
