// AdamW (Kingma and Ba 2015, arXiv 1412.6980; decoupled decay: Loshchilov and Hutter 2019, 1711.05101) over all
// parameters of a model in one fused call, with the gradients clipped by their global norm (Pascanu et al. 2013) inside
// the same pass. Matrices decay; norms and biases, which have one dimension, do not.
//
// As in torch.optim.AdamW, a parameter without a gradient is skipped and its updates are not counted, so the bias
// correction of a head that starts to learn late uses its own number of updates.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/options.hpp"

namespace attend {

struct OptimiserConfig {
  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double clip_norm = 1;
  bool bias_correction = true;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("beta1", self.beta1, {.help = "AdamW: decay of the mean of gradients", .min = 0, .max = 0.9999999});
    visit("beta2", self.beta2, {.help = "AdamW: decay of the mean of squared gradients", .min = 0, .max = 0.9999999});
    visit("epsilon", self.epsilon, {.help = "AdamW: added to the root of the squared mean", .min = 1e-16, .max = 1});
    visit("weight-decay", self.weight_decay,
          {.help = "AdamW: decay of matrices (not of norms and biases)", .min = 0, .max = 1});
    visit("bias-correction", self.bias_correction,
          {.help = "AdamW: correct the moments for starting at zero; BERT's own optimiser does not"});
    visit("clip-norm", self.clip_norm, {.help = "largest global norm of the gradient; 0: no clipping", .min = 0});
  }
};

// Owns the moments, not the parameters.
//
//   loss.backward();
//   const double norm = optimiser.gradient_norm();  // the caller checks that it is finite
//   optimiser.step(rate, norm);                     // updates the parameters and frees the gradients
class AdamW {
 public:
  // Parameters that do not require a gradient are ignored. `rate_of` returns the learning-rate factor of a parameter.
  AdamW(
      const torch::nn::Module& model, const OptimiserConfig& config,
      const std::function<double(const std::string&)>& rate_of = [](const std::string&) { return 1.0; });

  // The global Euclidean norm of all gradients (0 if there are none); the only value read back from the device.
  double gradient_norm() const;

  // One update with the given learning rate. Gradients are scaled down to clip-norm if `norm` exceeds it, and freed.
  void step(double learning_rate, double norm);

  // The state as tensors under the names "mean.PARAMETER", "square.PARAMETER" and "updates.PARAMETER" (how many the
  // parameter had): the optimiser's own tensors, so that copying into them loads a state.
  std::vector<std::pair<std::string, torch::Tensor>> state() const;

 private:
  // Parameters with the same decay and rate, updated in one fused call.
  struct Group {
    double weight_decay = 0;
    double rate = 1;  // times the learning rate
    std::vector<std::string> names = {};
    std::vector<torch::Tensor> parameters = {}, means = {}, squares = {};
    std::vector<torch::Tensor> updates = {};  // fp32 scalars, as the fused kernel requires
  };

  Group& group_of(double weight_decay, double rate);

  OptimiserConfig config_;
  std::vector<Group> groups_;
};

}  // namespace attend
