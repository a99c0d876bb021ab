// A training of four numbers, a point in space: small enough to be computed by hand, with all that a trainer needs from
// a task.
#pragma once

#include <torch/nn/module.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "train/trainer.hpp"

namespace attend {

class PointLayer : public Layer {
 public:
  PointLayer() {
    x = register_parameter("x", torch::full({2, 2}, 4.0F));
    passes = register_buffer("passes", torch::zeros({}));
  }
  void initialise(RandomStream&) override {}
  void visit_weights(const std::function<void(ops::Weight&)>&) override { ++refreshed; }
  torch::Tensor x;
  torch::Tensor passes;  // of training: a state that changes as running statistics do
  int refreshed = 0;
};

class PointModel : public torch::nn::Module {
 public:
  PointModel() : layer(register_module("layer", std::make_shared<PointLayer>())), x(layer->x) {}
  std::shared_ptr<PointLayer> layer;
  torch::Tensor x;
};

// Batch b of an epoch of four has b + 1 examples.
struct PointBatch {
  std::int64_t epoch = 0, number = 0;
  std::int64_t count() const { return number + 1; }
  std::vector<torch::Tensor*> tensors() { return {}; }
};

class PointBatches {
 public:
  std::int64_t begin_epoch(std::int64_t epoch) {
    epoch_ = epoch;
    return 4;
  }
  PointBatch batch(std::int64_t number) const { return {.epoch = epoch_, .number = number}; }

 private:
  std::int64_t epoch_ = 0;
};

// The examples of a batch pull x towards its number, with noise that depends on the dropout key as dropout does, and up
// by `baseline` times `baseline_weight`. `baseline`, the objective's state, is a moving average of the losses. The
// third batch of the second epoch may be spoilt.
enum class Spoilt { nothing, loss, gradient, statistics };

class PointObjective : public Objective<PointBatch> {
 public:
  PointObjective(torch::Tensor x, torch::Tensor passes) : x_(std::move(x)), passes_(std::move(passes)) {}

  std::vector<LossTerm> terms(const PointBatch& batch) const override {
    return {{.name = "nll", .weight = 1, .count = batch.count(), .has_perplexity = in_nats}};
  }
  std::vector<LossSum> losses(const PointBatch& batch, Pass& pass) const override {
    while_learning();
    passes_ += 1;
    const double noise = static_cast<double>(pass.dropout(0.5).key % 1000) / 1000 * noise_scale;
    const torch::Tensor pull = (x_ - static_cast<double>(batch.number) - noise).square().sum() * batch.count();
    torch::Tensor loss = pull - x_.sum() * baseline.clone() * baseline_weight;
    progress.push_back(pass.progress());
    if (batch.epoch == 1 && batch.number == 2) {
      if (spoilt == Spoilt::loss) loss = loss * std::numeric_limits<float>::quiet_NaN();
      if (spoilt == Spoilt::gradient) loss = loss + (x_.sum() * 0).sqrt();  // 0, with an infinite slope
      if (spoilt == Spoilt::statistics) passes_ /= 0;
    }
    return {{.loss = loss, .reported = loss.detach()}};
  }
  NamedTensors state() const override { return {{"baseline", baseline}}; }
  void update_made(std::span<const double> means) override { baseline.lerp_(torch::tensor(means[0]), 0.1); }

  torch::Tensor baseline = torch::zeros({});
  double baseline_weight = 0;
  double noise_scale = 1;
  bool in_nats = false;
  Spoilt spoilt = Spoilt::nothing;
  mutable std::vector<double> progress;  // of each pass
  std::function<void()> while_learning = [] {};

 private:
  torch::Tensor x_;
  mutable torch::Tensor passes_;
};

class PointTask : public StreamTask<PointBatch> {
 public:
  PointTask() : PointTask(std::make_shared<PointModel>()) {}

  torch::nn::Module& model() override { return *point; }
  std::int64_t phase_at(double share) const override { return share >= second_phase; }
  MicroBatch next() override {
    while_reading();
    return StreamTask::next();
  }
  MicroBatch largest() override { return micro_batch({.epoch = 0, .number = 3}); }
  std::int64_t batches_per_epoch() const override { return expected_batches; }
  std::vector<std::string> metrics() const override { return {"loss"}; }
  std::vector<ValidationMetric> validate(const std::filesystem::path&, std::int64_t step, Ranks&) override {
    while_validating(step);
    return {{.name = "loss", .value = std::abs(static_cast<double>(step) - best_step)}};
  }

  std::shared_ptr<PointModel> point;
  PointObjective& objective;
  std::int64_t expected_batches = 4;
  double best_step = 1e9;
  double second_phase = 2;  // of the updates: none
  std::function<void(std::int64_t)> while_validating = [](std::int64_t /*step*/) {};
  std::function<void()> while_reading = [] {};

 private:
  explicit PointTask(const std::shared_ptr<PointModel>& of)
      : StreamTask(std::make_unique<PointObjective>(of->x, of->layer->passes), TensorMetadata{}, torch::kCPU),
        point(of),
        objective(static_cast<PointObjective&>(*objective_)) {}
  std::unique_ptr<BatchStream<PointBatch>> stream_from(DataPosition position, Shard shard) override {
    return std::make_unique<BatchStream<PointBatch>>(PointBatches(), position, shard);
  }
  std::int64_t tokens_of(const PointBatch& batch) const override { return batch.count(); }
  std::vector<std::int64_t> lines_of(const PointBatch& batch) const override {
    std::vector<std::int64_t> lines;
    for (std::int64_t i = 0; i < batch.count(); ++i) lines.push_back(10 * batch.number + i);
    return lines;
  }
};

// One process that trains in `run`, alone or with others.
struct PointSession {
  explicit PointSession(const std::filesystem::path& run, TrainerConfig given = {},
                        OptimiserKind kind = OptimiserKind::adamw, Ranks* others = nullptr)
      : config(std::move(given)) {
    if (!config.max_steps && !config.max_epochs) config.max_steps = 10;
    if (!config.valid_every) config.valid_every = 3;
    if (!config.save_every) config.save_every = 3;
    optimiser = std::make_unique<Optimiser>(*task.point, OptimiserConfig{.optimiser = kind, .clip_norm = 0});
    trainer.emplace(task, *optimiser, config, schedule, run, others != nullptr ? *others : alone);
  }
  std::vector<float> weights() const {
    const torch::Tensor flat = task.point->x.detach().flatten();
    return {flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel()};
  }

  PointTask task;
  TrainerConfig config;
  ScheduleConfig schedule{.schedule = ScheduleKind::inverse_sqrt, .learning_rate = 0.1, .warmup_steps = 2};
  std::unique_ptr<Optimiser> optimiser;
  Ranks alone;
  std::optional<Trainer> trainer;
};

// The files of a checkpoint that determine the next update.
inline std::vector<std::string> learnt(const std::filesystem::path& run, std::int64_t step) {
  const std::filesystem::path checkpoint = checkpoint_path(run, step);
  return {read_file(checkpoint / "model.safetensors"), read_file(checkpoint / "optimizer.safetensors")};
}

}  // namespace attend
