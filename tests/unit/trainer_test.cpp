// The training loop over a task of three numbers: what it does at limits, intervals, bad losses and resumption.
#include "train/trainer.hpp"

#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <memory>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "models/layers/layers.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

class Coordinates : public Layer {
 public:
  Coordinates() { x = register_parameter("x", torch::full({2, 2}, 4.0F)); }
  void initialise(RandomStream&) override {}
  void visit_weights(const std::function<void(ops::Weight&)>&) override { ++refreshed; }
  torch::Tensor x;
  int refreshed = 0;
};

class Point : public torch::nn::Module {
 public:
  Point() : layer(register_module("layer", std::make_shared<Coordinates>())), x(layer->x) {}
  std::shared_ptr<Coordinates> layer;
  torch::Tensor x;
};

// Batch b of an epoch of four has b + 1 examples; each pulls x towards a target of its own, with noise that depends on
// the dropout key as dropout does.
class PointTask : public Task {
 public:
  torch::nn::Module& model() override { return point; }
  std::int64_t phase_at(double share) const override { return share >= second_phase; }
  void seek(DataPosition position) override { position_ = position; }
  MicroBatch next() override {
    const DataPosition here = position_;
    position_.batch = (here.batch + 1) % 4;
    position_.epoch += position_.batch == 0;
    const std::int64_t count = here.batch + 1;
    MicroBatch batch{.position = here, .after = position_, .terms = {{.name = "nll", .count = count}}, .tokens = count};
    for (std::int64_t i = 0; i < count; ++i) batch.examples.push_back(10 * here.batch + i);
    batch.forward = [this, here, count](Pass& pass) -> std::vector<LossSum> {
      const double noise = static_cast<double>(pass.dropout(0.5).key % 1000) / 1000 * noise_scale;
      const torch::Tensor loss = (point.x - static_cast<double>(here.batch) - noise).square().sum() * count;
      const bool spoil = here.epoch == 1 && here.batch == 2 && spoilt;
      return {{.loss = spoil ? loss * std::numeric_limits<float>::quiet_NaN() : loss, .nll = loss.detach()}};
    };
    return batch;
  }
  MicroBatch largest() override { return next(); }
  std::int64_t batches_per_epoch() const override { return 4; }
  std::vector<std::string> metrics() const override { return {"loss"}; }
  std::vector<ValidationMetric> validate(const std::filesystem::path&, std::int64_t step) override {
    return {{.name = "loss", .value = std::abs(static_cast<double>(step) - best_step)}};
  }

  Point point;
  double noise_scale = 1;
  double best_step = 1e9;
  double second_phase = 2;  // of the updates: none
  bool spoilt = false;

 private:
  DataPosition position_;
};

// One process that trains in `run`.
struct Session {
  explicit Session(const std::filesystem::path& run, TrainerConfig given = {}) : config(std::move(given)) {
    if (!config.max_steps) config.max_steps = 10;
    if (!config.valid_every) config.valid_every = 3;
    if (!config.save_every) config.save_every = 3;
    optimiser.emplace(task.point, OptimiserConfig{.clip_norm = 0});
    trainer.emplace(task, *optimiser, config, schedule, run);
  }
  std::vector<float> weights() const {
    const torch::Tensor flat = task.point.x.detach().flatten();
    return {flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel()};
  }

  PointTask task;
  TrainerConfig config;
  ScheduleConfig schedule{.learning_rate = 0.1, .warmup_steps = 2};
  std::optional<AdamW> optimiser;
  std::optional<Trainer> trainer;
};

TEST(Trainer, StopsAtEachLimit) {
  const TemporaryDirectory run;
  const auto ending = [&](const TrainerConfig& config) {
    std::filesystem::remove_all(run.path() / "checkpoints");
    Session session(run.path(), config);
    const Ending end = session.trainer->train();
    return std::pair(end, session.trainer->state().step);
  };
  EXPECT_EQ(ending({.max_steps = 7}), std::pair(Ending::max_steps, std::int64_t{7}));
  EXPECT_EQ(ending({.max_epochs = 2}), std::pair(Ending::max_epochs, std::int64_t{8}));
  EXPECT_EQ(ending({.accumulate = 3, .max_epochs = 2}), std::pair(Ending::max_epochs, std::int64_t{3}));
  EXPECT_EQ(ending({.max_time = Duration{0}}), std::pair(Ending::max_time, std::int64_t{0}));
}

TEST(Trainer, PatienceCountsValidationsWithoutABest) {
  const TemporaryDirectory run;
  Session session(run.path(), {.max_steps = 100, .patience = 2});
  session.task.best_step = 6;
  EXPECT_EQ(session.trainer->train(), Ending::patience);
  EXPECT_EQ(session.trainer->state().step, 12);
  EXPECT_EQ(read_file(run / "best"), "step-6\n");
}

TEST(Trainer, AMetricThatIsNotFiniteIsNoBest) {
  const TemporaryDirectory run;
  Session session(run.path(), {.max_steps = 100, .patience = 2});
  session.task.best_step = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(session.trainer->train(), Ending::patience);
  EXPECT_EQ(session.trainer->state().step, 6);
  EXPECT_TRUE(session.trainer->state().scores.empty());
}

TEST(Trainer, KeepsTheLastAndTheBest) {
  const TemporaryDirectory run;
  Session session(run.path(), {.max_steps = 14, .valid_every = 2, .save_every = 2, .keep_last = 2, .keep_best = 2});
  session.task.best_step = 5;  // 4 and 6 are as near
  session.trainer->train();
  EXPECT_EQ(checkpoint_steps(run.path()), (std::vector<std::int64_t>{4, 6, 12, 14}));
}

TEST(Trainer, ResumeIsTheSameRun) {
  const TemporaryDirectory whole, parts;
  Session never_stopped(whole.path(), {.accumulate = 3, .max_steps = 9});
  never_stopped.trainer->train();
  Session first(parts.path(), {.accumulate = 3, .max_steps = 5});
  first.trainer->train();
  Session second(parts.path(), {.accumulate = 3, .max_steps = 9});
  const auto checkpoint = Checkpoint::newest(parts.path());
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(checkpoint->state().step, 5);
  second.trainer->restore(*checkpoint);
  second.trainer->train();
  EXPECT_EQ(second.weights(), never_stopped.weights());
  EXPECT_NE(first.weights(), never_stopped.weights());
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    EXPECT_EQ(read_file(checkpoint_path(whole.path(), 9) / file), read_file(checkpoint_path(parts.path(), 9) / file));
  }
  EXPECT_EQ(second.trainer->state().position, never_stopped.trainer->state().position);
}

TEST(Trainer, ALongerTrainingDoesNotGoBackToAPhase) {
  const TemporaryDirectory run;
  Session first(run.path(), {.max_steps = 4});
  first.task.second_phase = 0.5;
  first.trainer->train();
  EXPECT_EQ(first.trainer->state().position, (DataPosition{.epoch = 0, .batch = 2, .phase = 1}));
  Session longer(run.path(), {.max_steps = 16});
  longer.task.second_phase = 0.5;
  longer.trainer->restore(*Checkpoint::newest(run.path()));
  longer.trainer->train();
  EXPECT_EQ(longer.trainer->state().position, (DataPosition{.epoch = 3, .batch = 2, .phase = 1}));
}

TEST(Trainer, AccumulationIsExact) {
  const TemporaryDirectory run;
  // Batches of 1 to 4 examples around targets 0 to 3: the gradient of their joint mean is 2 (x - (0 + 2 + 6 + 12) /
  // 10), and AdamW's first step goes by the rate against its sign.
  Session session(run.path(), {.accumulate = 4, .max_steps = 1});
  session.task.noise_scale = 0;
  session.trainer->train();
  const auto state = session.optimiser->state();
  const auto mean =
      std::find_if(state.begin(), state.end(), [](const auto& entry) { return entry.first == "mean.layer.x"; });
  ASSERT_NE(mean, state.end());
  EXPECT_NEAR(mean->second.flatten()[0].item<double>(), 0.1 * 2 * (4 - 2.0), 1e-6);
}

TEST(Trainer, StopsBeforeALossThatIsNotFinite) {
  const TemporaryDirectory run;
  Session session(run.path());
  session.task.spoilt = true;
  try {
    session.trainer->train();
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("update 7 (epoch 2, batch 3)"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(std::isfinite(session.weights()[0]));
  const auto report = read_json(run / "nonfinite-step-7.json");
  EXPECT_EQ(report["batches"][0]["examples"], (std::vector<int>{20, 21, 22}));
  EXPECT_EQ(session.task.point.layer->refreshed, 6);
}

TEST(Checkpoint, FallsBackWhenDamaged) {
  const TemporaryDirectory run;
  Session session(run.path());
  session.trainer->train();
  ASSERT_EQ(checkpoint_steps(run.path()).back(), 10);
  for (const char* file : {"model.safetensors", "optimizer.safetensors", "state.json", "manifest.json"}) {
    const std::filesystem::path path = checkpoint_path(run.path(), 10) / file;
    const std::string good = read_file(path);
    std::string flipped = good;
    flipped[good.size() / 2] ^= 1;
    for (const std::string& bad : {good.substr(0, good.size() / 2), std::string(), flipped}) {
      std::ofstream(path, std::ios::binary) << bad;
      const auto found = Checkpoint::newest(run.path());
      ASSERT_TRUE(found);
      EXPECT_EQ(found->state().step, 9) << file;
    }
    std::ofstream(path, std::ios::binary) << good;
    EXPECT_EQ(Checkpoint::newest(run.path())->state().step, 10);
  }
  for (const std::int64_t step : checkpoint_steps(run.path())) {
    std::ofstream(checkpoint_path(run.path(), step) / "manifest.json") << "{\"version\": 1e999}";
  }
  EXPECT_THROW(Checkpoint::newest(run.path()), UserError);  // to begin again would be to lose the run
}

TEST(Trainer, AValidationThatIsNotFiniteIsNoBest) {
  const TemporaryDirectory run;
  Session session(run.path(), {.max_steps = 6});
  session.task.best_step = std::numeric_limits<double>::quiet_NaN();
  session.trainer->train();
  EXPECT_TRUE(session.trainer->state().scores.empty());
  EXPECT_EQ(Checkpoint::newest(run.path())->state().step, 6);
}

TEST(EventLog, StartsANewLineAfterATornOne) {
  const TemporaryDirectory run;
  std::ofstream(run / "train.jsonl") << "{\"event\": \"tr";
  EventLog(run.path(), 0).write("train", 50, {{"loss", 1.5}});
  const std::string text = read_file(run / "train.jsonl");
  const std::string line = text.substr(text.find('\n') + 1);
  EXPECT_EQ(nlohmann::json::parse(line)["loss"], 1.5);
}

}  // namespace
}  // namespace attend
