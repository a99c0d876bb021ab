// The parameters of a model that a training updates, in groups of one rule (update_rules.hpp), weight decay and rate;
// with gradients clipped by their global norm.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/safetensors.hpp"
#include "train/update_rules.hpp"

namespace attend {

// An optimiser owns the moments, not the parameters.
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
    const UpdateRule* rule = nullptr;
    double weight_decay = 0;
    double rate = 1;  // factor of the learning rate
    std::vector<DescribedParameter> parameters = {};
    std::vector<std::vector<torch::Tensor>> state = {};  // of each part
  };

  Group& group_of(const UpdateRule& rule, double weight_decay, double rate);
  static UpdateSlice with_gradients(const Group& group);

  OptimiserConfig config_;
  UpdateRules rules_;
  std::vector<Group> groups_;
};

}  // namespace attend
