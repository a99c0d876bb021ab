// An objective: the terms of a loss, and their state between updates. Translation, both kinds of pretraining and
// fine-tuning have one each; the trainer does not distinguish them.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/layers/pass.hpp"
#include "models/layers/weights_io.hpp"

namespace attend {

class Watch;

// One term of a loss: its weight, and the denominator of its sum over a batch. An update follows the gradient of Σ
// weight · (Σ loss) / (Σ count), with the inner sums over all its batches, so gradient accumulation is exact.
struct LossTerm {
  std::string name;
  double weight = 1;
  std::int64_t count = 0;
  bool has_perplexity = false;  // the reported value is in nats per token, and its exponential a perplexity
};

// The sum of one term over a batch.
struct LossSum {
  torch::Tensor loss;      // scalar, differentiable
  torch::Tensor reported;  // scalar, for the log: the unsmoothed cross-entropy in nats, or else the loss itself
};

template <class Batch>
class Objective {
 public:
  virtual ~Objective() = default;

  // Names, weights and counts of the terms, known before the forward pass.
  virtual std::vector<LossTerm> terms(const Batch& batch) const = 0;

  // One forward pass: the sum of each term. pass.progress() is the progress of training. The pass must not change the
  // state, since the update may be abandoned.
  virtual std::vector<LossSum> losses(const Batch& batch, Pass& pass) const = 0;

  // One forward pass over some sentences of a batch, without dropout, for --watch (train/watch.hpp).
  virtual void show(const Batch& /*batch*/, Watch& /*watch*/) const {}

  // State between updates, such as a moving baseline: fp32 tensors, which checkpoints save by name and restore in
  // place.
  virtual NamedTensors state() const { return {}; }

  // Called after each update with the mean reported value of each term over all its batches, in the order of terms()
  // and equal on every rank: updates the state.
  virtual void update_made(std::span<const double> /*means*/) {}
};

}  // namespace attend
