// An objective: the terms of a loss, and their state between updates. Translation, BERT's pretraining and each head of
// fine-tuning are objectives; the trainer knows none of them.
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

// One term of a loss: its weight, and the denominator of its sum over a batch. The gradient of an update is that of Σ
// weight * (Σ loss) / (Σ count), with the inner sums over all batches of the update: accumulation is exact.
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

  // One forward pass: the sum of each term. pass.progress() is the progress of training. The pass reads the state, but
  // must not change it: the update may never be made.
  virtual std::vector<LossSum> losses(const Batch& batch, Pass& pass) const = 0;

  // One forward pass over some sentences of a batch, without dropout, for a watch on depth (train/watch.hpp).
  virtual void show(const Batch& /*batch*/, Watch& /*watch*/) const {}

  // State that must survive between updates, such as a moving baseline. Checkpoints save these fp32 tensors under their
  // names and restore them in place.
  virtual NamedTensors state() const { return {}; }

  // Moves the state once the optimiser has made an update: by the mean of what each term reported over all batches of
  // the update, in the order of terms(), the same on every rank.
  virtual void update_made(std::span<const double> /*means*/) {}
};

}  // namespace attend
