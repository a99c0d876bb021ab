// The exponential moving average of a model's weights over its updates (Polyak and Juditsky 1992; also used for the
// Transformer by Marian and TensorFlow). After update t = 1, 2, …, with w the parameters and running statistics,
//
//   average = d average + (1 - d) w,  d = min(decay, (1 + t) / (10 + t))
//
// The second term of the minimum lets early averages forget the initial weights, of which decay^t would remain
// otherwise.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "models/layers/weights_io.hpp"

namespace attend {

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

}  // namespace attend
