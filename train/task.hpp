// What a kind of training gives to the trainer: an objective, batches and validation.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/process.hpp"
#include "core/safetensors.hpp"
#include "data/batch/batch.hpp"
#include "data/batch/batch_stream.hpp"
#include "data/corpus/batch_order.hpp"
#include "models/layers/pass.hpp"
#include "models/layers/weights_io.hpp"
#include "train/distributed/ranks.hpp"

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

// The terms of a loss, and their state between updates. Translation, both kinds of pretraining and fine-tuning have one
// each; the trainer does not distinguish them.
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

// A batch ready to be trained on.
struct MicroBatch {
  DataPosition position;
  DataPosition after;  // position once every shard has consumed its batch
  std::vector<LossTerm> terms = {};
  std::int64_t tokens = 0;                                  // for the speed in the log
  std::vector<std::int64_t> examples = {};                  // line numbers in the text, for messages
  std::function<std::vector<LossSum>(Pass&)> forward = {};  // one sum per term
  std::function<void(Watch&)> show = {};                    // Objective::show
};

// One result of validation.
struct ValidationMetric {
  std::string name;
  double value = 0;
};

class Task {
 public:
  virtual ~Task() = default;

  // The model; the trainer's caller moves it to the device and sets its precision before the first batch is requested.
  virtual torch::nn::Module& model() = 0;

  // The identity of the weights, recorded in their files.
  virtual TensorMetadata identity() const { return {}; }

  // State of the objective between updates.
  virtual NamedTensors objective_state() const { return {}; }
  virtual void update_made(std::span<const double> /*means*/) {}  // Objective::update_made

  // The learning-rate factor of a parameter, by its full name.
  virtual double rate_of(const std::string& /*parameter*/) const { return 1; }

  // The phase after the fraction `share` of the updates. Each phase of a curriculum has its own stream of batches.
  virtual std::int64_t phase_at(double /*share*/) const { return 0; }

  // Moves to a position in the endless stream of batches of a phase; next() then returns the batches of the shard.
  virtual void seek(DataPosition position, Shard shard) = 0;
  virtual MicroBatch next() = 0;

  // The batch that needs the most memory.
  virtual MicroBatch largest() = 0;
  // The number in an epoch; in some epochs there may be a few more or fewer.
  virtual std::int64_t batches_per_epoch() const = 0;
  // True if all batches of a phase have about the same number of tokens.
  virtual bool batches_are_alike() const { return false; }

  // Names of the metrics of validate() that may select the best checkpoint, "loss" among them; empty without validation
  // data.
  virtual std::vector<std::string> metrics() const = 0;

  // Metrics on held-out data, computed by all ranks together, with equal results. Translations are written below the
  // directory `run`, named after `step`. Throws Interrupted if a signal requests a stop.
  virtual std::vector<ValidationMetric> validate(const std::filesystem::path& run, std::int64_t step, Ranks& ranks) = 0;
};

// A task with one objective over a prefetched stream of batches. A derived class must call stop() in its destructor,
// since the background thread reads its text.
template <class Batch>
class StreamTask : public Task {
 public:
  TensorMetadata identity() const override { return identity_; }
  NamedTensors objective_state() const override { return objective_->state(); }
  void update_made(std::span<const double> means) override { objective_->update_made(means); }

  void seek(DataPosition position, Shard shard) override { stream_ = stream_from(position, shard); }
  MicroBatch next() override {
    StreamedBatch<Batch> next = stream_->next();
    return micro_batch(std::move(next.batch), next.position, next.after);
  }

 protected:
  StreamTask(std::unique_ptr<Objective<Batch>> objective, TensorMetadata identity, torch::Device device)
      : objective_(std::move(objective)), device_(device), identity_(std::move(identity)) {}

  void stop() { stream_.reset(); }

  virtual std::unique_ptr<BatchStream<Batch>> stream_from(DataPosition position, Shard shard) = 0;

  // MicroBatch::tokens and examples.
  virtual std::int64_t tokens_of(const Batch& batch) const = 0;
  virtual std::vector<std::int64_t> lines_of(const Batch& batch) const = 0;

  MicroBatch micro_batch(Batch batch, DataPosition position = {}, DataPosition after = {}) const {
    MicroBatch result{.position = position,
                      .after = after,
                      .terms = objective_->terms(batch),
                      .tokens = tokens_of(batch),
                      .examples = lines_of(batch)};
    const auto here = std::make_shared<const Batch>(on_device(std::move(batch), device_));
    result.forward = [this, here](Pass& pass) { return objective_->losses(*here, pass); };
    result.show = [this, here](Watch& watch) { objective_->show(*here, watch); };
    return result;
  }

  // Calls `measure` for this rank's share of the held-out batches, moved to the device, until all ranks together have
  // read `most_tokens` tokens.
  template <class Data, class Measure>
  void measure_held_out(const Data& data, std::int64_t most_tokens, Ranks& ranks, const Measure& measure) const {
    const torch::NoGradGuard no_grad;
    ranks.together([&] {
      std::int64_t tokens = 0;
      for (std::int64_t b = 0; b < data.num_batches() && tokens < most_tokens; ++b) {
        signals::throw_if_stopped("validation");
        Batch batch = data.batch(b);
        tokens += tokens_of(batch);
        if (b % ranks.size() == ranks.rank()) measure(on_device(std::move(batch), device_));
      }
    });
  }

  std::unique_ptr<Objective<Batch>> objective_;
  torch::Device device_;

 private:
  TensorMetadata identity_;
  std::unique_ptr<BatchStream<Batch>> stream_;
};

}  // namespace attend
