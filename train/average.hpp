// Means of weights: over the updates of a training, and over its checkpoints.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "models/layers/weights_io.hpp"

namespace attend {

// The exponential moving average of a model's weights over its updates (Polyak and Juditsky 1992; also used for the
// Transformer by Marian and TensorFlow). After update t = 1, 2, …, with w the parameters and running statistics,
//
//   average = d average + (1 - d) w,  d = min(decay, (1 + t) / (10 + t))
//
// The second term of the minimum lets early averages forget the initial weights, of which decay^t would remain
// otherwise.
class WeightAverage {
 public:
  // Starts with the model's weights. The model must outlive it.
  WeightAverage(const torch::nn::Module& model, double decay);

  // Called after update number `update`, counted from 1.
  void add(std::int64_t update);

  // The average, named as in weights_of(model): its own tensors, so that copying into them restores it.
  const NamedTensors& weights() const { return average_; }

  // During its lifetime the model has the averaged weights.
  class InModel {
   public:
    explicit InModel(const WeightAverage& average);
    InModel(const InModel&) = delete;
    InModel& operator=(const InModel&) = delete;
    ~InModel();

   private:
    const WeightAverage& of_;
    std::vector<torch::Tensor> kept_;
  };

 private:
  const torch::nn::Module& model_;
  double decay_;
  NamedTensors trained_;  // the model's own
  NamedTensors average_;
};

// The mean of the weights of several checkpoints of a run, which often generalises better than the last one (Vaswani et
// al. 2017, section 6.1; Izmailov et al. 2018, arXiv 1803.05407). Running statistics are averaged like weights.

struct AverageConfig {
  std::string run;
  std::optional<std::int64_t> last = {};
  std::optional<std::int64_t> best = {};
  std::string output;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("run", self.run, {.help = "run directory", .placeholder = "RUN", .required = true, .positional = true});
    visit("last", self.last, {.help = "average the newest N checkpoints; auto: all, unless --best is given", .min = 1});
    visit("best", self.best, {.help = "average the N best checkpoints instead", .min = 1});
    visit("output", self.output,
          {.help = "new run with the average as its checkpoint", .placeholder = "DIR", .required = true});
  }

  void validate(const OptionOrigins& origins) const;
};

// Writes the run `config.output`, which can be used but not resumed. Throws UserError if that exists, or if the run has
// fewer checkpoints than requested, or a damaged one.
void average_checkpoints(const AverageConfig& config);

}  // namespace attend
