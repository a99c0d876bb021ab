// What a job gives the trainer: batches with their losses, and validation. Translation is one; whatever else is trained
// is another, and the trainer knows none of them.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/safetensors.hpp"
#include "data/corpus/data_position.hpp"
#include "models/layers/pass.hpp"

namespace attend {

// One term of a loss: how much it weighs, and what its sum over the batch is divided by. The gradient of an update is
// that of Σ weight * (Σ loss) / (Σ count), the inner sums over all batches of the update: accumulation is exact.
struct LossTerm {
  std::string name;
  double weight = 1;
  std::int64_t count = 0;
};

// The sum of one term over a batch.
struct LossSum {
  torch::Tensor loss;  // scalar, differentiable
  torch::Tensor nll;   // scalar, what is reported: nats without smoothing
};

// A batch that is ready to be learnt from.
struct MicroBatch {
  DataPosition position;
  DataPosition after;  // where the next one is
  std::vector<LossTerm> terms = {};
  std::int64_t tokens = 0;                                  // what speed is measured in
  std::vector<std::int64_t> examples = {};                  // as a user can find them: lines of the text
  std::function<std::vector<LossSum>(Pass&)> forward = {};  // one sum a term
};

// What validation found.
struct ValidationMetric {
  std::string name;
  double value = 0;
};

class Task {
 public:
  virtual ~Task() = default;

  // Put on the device, and in the precision, that it trains in before the first batch is asked for.
  virtual torch::nn::Module& model() = 0;

  // What the weights belong to: said in the files that hold them.
  virtual TensorMetadata identity() const { return {}; }

  // What the learning rate is multiplied by for a parameter.
  virtual double rate_of(const std::string& /*parameter*/) const { return 1; }

  // The phase that a training is in when `share` of its updates are made.
  virtual std::int64_t phase_at(double /*share*/) const { return 0; }

  // Goes to a place in the stream of batches, which never ends and stays in one phase.
  virtual void seek(DataPosition position) = 0;
  virtual MicroBatch next() = 0;

  // The batch that needs most memory.
  virtual MicroBatch largest() = 0;
  virtual std::int64_t batches_per_epoch() const = 0;
  // Whether all batches of a phase have about as many tokens.
  virtual bool batches_are_alike() const { return false; }

  // Whether the first loss is nats a token, whose exponential is a perplexity.
  virtual bool has_perplexity() const { return true; }

  // Names of what validate() finds, "loss" (nats) among them; none where there is nothing to validate on.
  virtual std::vector<std::string> metrics() const = 0;

  // Metrics on held-out data. What it writes for people to read goes under the directory
  // `run`, named after `step`. Throws Interrupted when a signal asks to stop.
  virtual std::vector<ValidationMetric> validate(const std::filesystem::path& run, std::int64_t step) = 0;
};

}  // namespace attend
