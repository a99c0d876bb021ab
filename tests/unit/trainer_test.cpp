// The training loop over a task of three numbers: what it does at limits, intervals, bad losses and resumption.
#include "train/trainer.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <torch/nn/module.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <limits>
#include <map>
#include <memory>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/manifest.hpp"
#include "core/signals.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "tests/support/several_ranks.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

class Coordinates : public Layer {
 public:
  Coordinates() {
    x = register_parameter("x", torch::full({2, 2}, 4.0F));
    passes = register_buffer("passes", torch::zeros({}));
  }
  void initialise(RandomStream&) override {}
  void visit_weights(const std::function<void(ops::Weight&)>&) override { ++refreshed; }
  torch::Tensor x;
  torch::Tensor passes;  // of training: a state that moves as running statistics do
  int refreshed = 0;
};

class Point : public torch::nn::Module {
 public:
  Point() : layer(register_module("layer", std::make_shared<Coordinates>())), x(layer->x) {}
  std::shared_ptr<Coordinates> layer;
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

// Each example pulls x towards a target of its own, with noise that depends on the dropout key as dropout does, and
// away from zero by a moving average of the losses, its state. The third batch of the second epoch may be spoilt.
enum class Spoilt { nothing, loss, gradient };

class PointObjective : public Objective<PointBatch> {
 public:
  PointObjective(torch::Tensor x, torch::Tensor passes) : x_(std::move(x)), passes_(std::move(passes)) {}

  std::vector<LossTerm> terms(const PointBatch& batch) const override {
    return {{.name = "nll", .weight = 1, .count = batch.count()}};
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
      if (spoilt == Spoilt::gradient) loss = loss + (x_.sum() * 0).sqrt();  // 0, of an infinite slope
    }
    return {{.loss = loss, .reported = loss.detach()}};
  }
  NamedTensors state() const override { return {{"baseline", baseline}}; }
  void update_made(std::span<const double> means) override { baseline.lerp_(torch::tensor(means[0]), 0.1); }

  torch::Tensor baseline = torch::zeros({});
  double baseline_weight = 0;
  double noise_scale = 1;
  Spoilt spoilt = Spoilt::nothing;
  mutable std::vector<TrainProgress> progress;  // of each pass
  std::function<void()> while_learning = [] {};

 private:
  torch::Tensor x_;
  mutable torch::Tensor passes_;
};

class PointTask : public StreamTask<PointBatch> {
 public:
  PointTask() : PointTask(std::make_shared<Point>()) {}

  torch::nn::Module& model() override { return *point; }
  std::int64_t phase_at(double share) const override { return share >= second_phase; }
  MicroBatch next() override {
    while_reading();
    return StreamTask::next();
  }
  MicroBatch largest() override { return micro_batch({.epoch = 0, .number = 3}); }
  std::int64_t batches_per_epoch() const override { return 4; }
  std::vector<std::string> metrics() const override { return {"loss"}; }
  std::vector<ValidationMetric> validate(const std::filesystem::path&, std::int64_t step, Ranks&) override {
    while_validating(step);
    return {{.name = "loss", .value = std::abs(static_cast<double>(step) - best_step)}};
  }

  std::shared_ptr<Point> point;
  PointObjective& objective;
  double best_step = 1e9;
  double second_phase = 2;  // of the updates: none
  std::function<void(std::int64_t)> while_validating = [](std::int64_t /*step*/) {};
  std::function<void()> while_reading = [] {};

 private:
  explicit PointTask(const std::shared_ptr<Point>& of)
      : StreamTask(std::make_unique<PointObjective>(of->x, of->layer->passes), torch::kCPU),
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
struct Session {
  explicit Session(const std::filesystem::path& run, TrainerConfig given = {},
                   OptimiserKind kind = OptimiserKind::adamw, Ranks* others = nullptr)
      : config(std::move(given)) {
    if (!config.max_steps) config.max_steps = 10;
    if (!config.valid_every) config.valid_every = 3;
    if (!config.save_every) config.save_every = 3;
    optimiser = make_optimiser(*task.point, {.optimiser = kind, .clip_norm = 0});
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

TEST(Trainer, StopsAtEachLimit) {
  const TemporaryDirectory run;
  const auto ending = [&](const TrainerConfig& config) {
    std::filesystem::remove_all(run.path() / "checkpoints");
    Session session(run.path(), config);
    const StopReason end = session.trainer->train();
    return std::pair(end, session.trainer->state().step);
  };
  EXPECT_EQ(ending({.max_steps = 7}), std::pair(StopReason::max_steps, std::int64_t{7}));
  EXPECT_EQ(ending({.max_epochs = 2}), std::pair(StopReason::max_epochs, std::int64_t{8}));
  EXPECT_EQ(ending({.accumulate = 3, .max_epochs = 2}), std::pair(StopReason::max_epochs, std::int64_t{3}));
  EXPECT_EQ(ending({.max_time = Duration{0}}), std::pair(StopReason::max_time, std::int64_t{0}));
}

TEST(Trainer, SeveralProcessesDoNotShareTheStatisticsOfBatchNorm) {
  const TrainerConfig one, three{.processes = 3};
  OptionOrigins origins;
  origins.record("norm-kind", "--norm-kind");
  EXPECT_NO_THROW(one.refuse_several(NormKind::batch, origins));
  EXPECT_NO_THROW(three.refuse_several(NormKind::rms, origins));
  try {
    three.refuse_several(NormKind::batch, origins);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "--norm-kind: batch, but the statistics of 3 processes are not summed");
    EXPECT_NE(error.remedy().find("--accumulate"), std::string::npos) << error.remedy();
  }
}

TEST(Trainer, PatienceCountsValidationsWithoutABest) {
  const TemporaryDirectory run;
  Session session(run.path(), {.max_steps = 100, .patience = 2});
  session.task.best_step = 6;
  EXPECT_EQ(session.trainer->train(), StopReason::patience);
  EXPECT_EQ(session.trainer->state().step, 12);
  EXPECT_EQ(read_file(run / "best"), "step-6\n");
}

TEST(Trainer, AMetricThatIsNotFiniteIsNoBest) {
  const TemporaryDirectory run;
  Session session(run.path(), {.max_steps = 100, .patience = 2});
  session.task.best_step = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(session.trainer->train(), StopReason::patience);
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

class TrainerOf : public testing::TestWithParam<OptimiserKind> {};

TEST_P(TrainerOf, ResumeIsTheSameRun) {
  const TemporaryDirectory whole, parts;
  Session never_stopped(whole.path(), {.accumulate = 3, .max_steps = 9}, GetParam());
  never_stopped.task.objective.baseline_weight = 0.01;
  never_stopped.trainer->train();
  Session first(parts.path(), {.accumulate = 3, .max_steps = 5}, GetParam());
  first.task.objective.baseline_weight = 0.01;
  first.trainer->train();
  Session second(parts.path(), {.accumulate = 3, .max_steps = 9}, GetParam());
  const auto checkpoint = Checkpoint::newest(parts.path());
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(checkpoint->state().step, 5);
  second.task.objective.baseline_weight = 0.01;
  second.trainer->restore(*checkpoint);
  EXPECT_EQ(second.task.objective.baseline.item<float>(), first.task.objective.baseline.item<float>());
  EXPECT_EQ(second.task.point->layer->passes.item<int>(), 5 * 3);
  second.trainer->train();
  EXPECT_EQ(second.weights(), never_stopped.weights());
  EXPECT_NE(first.weights(), never_stopped.weights());
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    EXPECT_EQ(read_file(checkpoint_path(whole.path(), 9) / file), read_file(checkpoint_path(parts.path(), 9) / file));
  }
  EXPECT_EQ(second.trainer->state().position, never_stopped.trainer->state().position);
  const TrainProgress& progress = second.task.objective.progress.front();
  EXPECT_EQ(progress.update, 5);
  EXPECT_EQ(progress.share, 5.0 / 9);
}

INSTANTIATE_TEST_SUITE_P(All, TrainerOf,
                         testing::Values(OptimiserKind::adamw, OptimiserKind::adam, OptimiserKind::adadelta,
                                         OptimiserKind::sgd),
                         [](const auto& test) { return std::string(name_of(test.param)); });

// AdamW and Adam keep the same tensors, so only the name tells them apart.
TEST(Trainer, RefusesTheStateOfAnotherOptimiserByName) {
  const TemporaryDirectory run;
  Session(run.path()).trainer->train();
  const auto message_of = [&](OptimiserKind kind) -> std::string {
    try {
      Session(run.path(), {}, kind).trainer->restore(*Checkpoint::newest(run.path()));
    } catch (const UserError& error) {
      return error.what() + ("\n" + error.remedy());
    }
    return {};
  };
  EXPECT_EQ(message_of(OptimiserKind::adamw), "");
  const std::string message = message_of(OptimiserKind::adam);
  EXPECT_NE(message.find("the state of the optimiser adamw, expected adam"), std::string::npos) << message;
  EXPECT_NE(message.find("--optimiser adamw"), std::string::npos) << message;
}

TEST(Trainer, RefusesACheckpointWithoutTheStateOfTheObjective) {
  const TemporaryDirectory run;
  Session session(run.path());
  session.trainer->train();
  const std::filesystem::path file = checkpoint_path(run.path(), 10) / "optimizer.safetensors";
  save_tensors(file, session.optimiser->state(), session.optimiser->identity());
  write_manifest(file.parent_path());
  try {
    Session(run.path()).trainer->restore(*Checkpoint::newest(run.path()));
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("missing objective.baseline"), std::string::npos) << error.what();
  }
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
  session.task.objective.noise_scale = 0;
  session.trainer->train();
  const auto state = session.optimiser->state();
  const auto mean =
      std::find_if(state.begin(), state.end(), [](const auto& entry) { return entry.first == "mean.layer.x"; });
  ASSERT_NE(mean, state.end());
  EXPECT_NEAR(mean->second.flatten()[0].item<double>(), 0.1 * 2 * (4 - 2.0), 1e-6);
}

// x after each update, as the passes of the next find it, and its moving average computed by hand.
TEST(Trainer, AveragesItsWeights) {
  constexpr double kDecay = 0.3;  // reached at update 3: 4 / 13 is above it
  const TemporaryDirectory run, usual;
  Session session(run.path(), {.ema = kDecay, .max_steps = 5, .valid_every = 2, .save_every = 5});
  std::vector<double> trained;
  session.task.objective.while_learning = [&] { trained.push_back(session.weights()[0]); };
  std::map<std::int64_t, double> validated;
  session.task.while_validating = [&](std::int64_t step) { validated[step] = session.weights()[0]; };
  session.trainer->train();
  trained.push_back(session.weights()[0]);
  ASSERT_EQ(trained.size(), 6U);
  std::vector<double> average = {trained[0]};
  for (int t = 1; t <= 5; ++t) {
    const double decay = std::min(kDecay, (1.0 + t) / (10.0 + t));
    average.push_back(decay * average.back() + (1 - decay) * trained[t]);
  }
  for (const std::int64_t step : {2, 4, 5}) EXPECT_NEAR(validated[step], average[step], 1e-5) << step;
  EXPECT_GT(std::abs(average[5] - trained[5]), 1e-3);

  // A checkpoint has the average where every use of a run looks, and the trained weights beside the moments.
  const auto stored = [&](const char* file, const char* name) {
    const SafetensorsFile tensors(checkpoint_path(run.path(), 5) / file);
    const TensorView* found = tensors.find(name);
    return found == nullptr ? NAN : *reinterpret_cast<const float*>(found->bytes.data());
  };
  EXPECT_NEAR(stored("model.safetensors", "layer.x"), average[5], 1e-5);
  EXPECT_EQ(stored("optimizer.safetensors", "trained.layer.x"), session.weights()[0]);

  // The training is as without an average.
  Session without(usual.path(), {.max_steps = 5, .valid_every = 2, .save_every = 5});
  without.trainer->train();
  EXPECT_EQ(without.weights(), session.weights());
}

TEST(Trainer, AResumedAverageIsTheSame) {
  const TemporaryDirectory whole, parts;
  Session(whole.path(), {.accumulate = 3, .ema = 0.9, .max_steps = 9}).trainer->train();
  Session(parts.path(), {.accumulate = 3, .ema = 0.9, .max_steps = 5}).trainer->train();
  Session second(parts.path(), {.accumulate = 3, .ema = 0.9, .max_steps = 9});
  second.trainer->restore(*Checkpoint::newest(parts.path()));
  EXPECT_EQ(second.task.point->layer->passes.item<int>(), 5 * 3) << "of the training, not of the average";
  second.trainer->train();
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    EXPECT_EQ(read_file(checkpoint_path(whole.path(), 9) / file), read_file(checkpoint_path(parts.path(), 9) / file));
  }
}

// After an interrupted validation, too, the training goes on with its own weights.
TEST(Trainer, AnInterruptedValidationPutsTheTrainedWeightsBack) {
  const TemporaryDirectory run, usual;
  Session without(usual.path(), {.max_steps = 6});
  without.trainer->train();
  Session session(run.path(), {.ema = 0.9, .max_steps = 6});
  int calls = 0;
  session.task.while_validating = [&](std::int64_t) {
    if (++calls == 1) throw Interrupted("");
  };
  session.trainer->train();
  EXPECT_EQ(session.weights(), without.weights());
}

// Of eight batches the last round of three ranks has two.
TEST_F(SeveralRanks, TrainAsOneThatAccumulates) {
  in_ranks(3, [](Ranks& ranks) {
    const TemporaryDirectory of_one, of_this;
    Session one(of_one.path(), {.accumulate = 3, .max_epochs = 2});
    one.task.objective.baseline_weight = 0.01;
    EXPECT_EQ(one.trainer->train(), StopReason::max_epochs);
    const std::filesystem::path run = ranks.from_first(of_this.path().string());
    Session several(run, {.max_epochs = 2}, OptimiserKind::adamw, &ranks);
    several.task.objective.baseline_weight = 0.01;
    EXPECT_EQ(several.trainer->train(), StopReason::max_epochs);
    EXPECT_EQ(several.trainer->state().step, 3);
    EXPECT_EQ(several.trainer->state().position, one.trainer->state().position);
    EXPECT_EQ(several.trainer->state().tokens, one.trainer->state().tokens);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(several.weights()[i], one.weights()[i], 1e-5);
    EXPECT_NEAR(several.task.objective.baseline.item<float>(), one.task.objective.baseline.item<float>(), 1e-4);
    EXPECT_EQ(Checkpoint::newest(run)->state().processes, 3);
    ranks.sum(0);  // the directory is there until all have looked
  });
}

// Of two ranks that validate, one is told to stop: nothing that they have learnt is lost.
void stop_in_validation(Ranks& ranks, int told) {
  const TemporaryDirectory own;
  const std::filesystem::path run = ranks.from_first(own.path().string());
  signals::install();
  Session session(run, {.save_every = 100}, OptimiserKind::adamw, &ranks);
  session.task.best_step = std::numeric_limits<double>::quiet_NaN();  // which is not saved as the best
  session.task.while_validating = [&](std::int64_t step) {
    if (step == 6 && ranks.rank() == told) raise(SIGTERM);
    ranks.together([] {
      if (signals::stop_requested()) throw Interrupted("validation");
    });
  };
  EXPECT_THROW(session.trainer->train(), Interrupted);
  EXPECT_EQ(checkpoint_steps(run), std::vector<std::int64_t>{6});
  ranks.sum(0);  // the directory is there until all have looked
}

TEST_F(SeveralRanks, StopTogetherWhereTheFirstIsToldTo) {
  in_ranks(2, [](Ranks& ranks) { stop_in_validation(ranks, 0); });
}

TEST_F(SeveralRanks, StopTogetherWhereTheSecondIsToldTo) {
  in_ranks(2, [](Ranks& ranks) { stop_in_validation(ranks, 1); });
}

// Of two ranks, the second is told to stop while its third batch is made.
TEST_F(SeveralRanks, AStopWhileABatchIsMadeLeavesTheStateBefore) {
  in_ranks(2, [](Ranks& ranks) {
    const TemporaryDirectory own;
    const std::filesystem::path run = ranks.from_first(own.path().string());
    signals::install();
    Session session(run, {.save_every = 100}, OptimiserKind::adamw, &ranks);
    int batches = 0;
    session.task.while_reading = [&] {
      if (ranks.rank() != 1 || ++batches < 3) return;
      raise(SIGTERM);
      throw Interrupted("stopped");
    };
    EXPECT_THROW(session.trainer->train(), Interrupted);
    EXPECT_EQ(checkpoint_steps(run), std::vector<std::int64_t>{2});
    ranks.sum(0);  // the directory is there until all have looked
  });
}

TEST(Trainer, StopsBeforeALossThatIsNotFinite) {
  const TemporaryDirectory run;
  Session session(run.path());
  session.task.objective.spoilt = Spoilt::loss;
  try {
    session.trainer->train();
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("update 7 (epoch 2, batch 3)"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(std::isfinite(session.weights()[0]));
  EXPECT_EQ(checkpoint_steps(run.path()).back(), 6);
  const auto report = read_json(run / "nonfinite-step-7.json");
  EXPECT_EQ(report["batches"][0]["examples"], (std::vector<int>{20, 21, 22}));
  EXPECT_EQ(session.task.point->layer->refreshed, 6);
}

// The files of a checkpoint that determine the next update.
std::vector<std::string> learnt(const std::filesystem::path& run, std::int64_t step) {
  const std::filesystem::path checkpoint = checkpoint_path(run, step);
  return {read_file(checkpoint / "model.safetensors"), read_file(checkpoint / "optimizer.safetensors")};
}

TEST(Trainer, SkipsABatchWhoseLossOrGradientIsNotFinite) {
  for (const Spoilt spoilt : {Spoilt::loss, Spoilt::gradient}) {
    const TemporaryDirectory run, untroubled;
    Session stopped(run.path(), {.save_every = 100});
    stopped.task.objective.baseline_weight = 0.01;
    stopped.task.objective.spoilt = spoilt;
    EXPECT_THROW(stopped.trainer->train(), UserError);
    EXPECT_EQ(checkpoint_steps(run.path()), (std::vector<std::int64_t>{3, 6}));  // best at 3, and the sound state
    Session expected(untroubled.path(), {.max_steps = 6});
    expected.task.objective.baseline_weight = 0.01;
    expected.trainer->train();
    EXPECT_EQ(learnt(run.path(), 6), learnt(untroubled.path(), 6)) << "something was updated";
    Session resumed(run.path());
    resumed.task.objective.baseline_weight = 0.01;
    resumed.task.objective.spoilt = spoilt;
    resumed.trainer->restore(*Checkpoint::newest(run.path()));
    resumed.trainer->skip_batches();
    EXPECT_EQ(resumed.trainer->train(), StopReason::max_steps);
    EXPECT_EQ(resumed.trainer->state().position, (DataPosition{.epoch = 2, .batch = 3}));  // 10 updates of 11 batches
    EXPECT_TRUE(std::isfinite(resumed.task.objective.baseline.item<float>()));
  }
}

// Told to stop between the batches of its third update, a training saves the state after two.
TEST_F(SeveralRanks, AStopBetweenTheBatchesOfAnUpdateLeavesTheStateBefore) {
  in_ranks(1, [](Ranks&) {
    const TemporaryDirectory whole, parts;
    Session expected(whole.path(), {.accumulate = 3, .max_steps = 2});
    expected.task.objective.baseline_weight = 0.01;
    expected.trainer->train();
    signals::install();
    Session stopped(parts.path(), {.accumulate = 3, .max_steps = 9});
    stopped.task.objective.baseline_weight = 0.01;
    int passes = 0;
    stopped.task.objective.while_learning = [&passes] {
      if (++passes == 8) raise(SIGTERM);
    };
    EXPECT_THROW(stopped.trainer->train(), Interrupted);
    EXPECT_EQ(passes, 8);
    EXPECT_EQ(checkpoint_steps(parts.path()), std::vector<std::int64_t>{2});
    EXPECT_EQ(learnt(parts.path(), 2), learnt(whole.path(), 2));
  });
}

TEST(Checkpoint, RemembersWhatAnUpdateLearnsFrom) {
  const TemporaryDirectory run;
  Session(run.path(), {.accumulate = 3, .max_steps = 2}).trainer->train();
  const std::filesystem::path file = checkpoint_path(run.path(), 2) / "state.json";
  const auto written = read_json(file);
  EXPECT_EQ(written["processes"], 1);
  EXPECT_EQ(written["accumulate"], 3);
  // What resuming says with --accumulate 3, where that is what a checkpoint says.
  const auto said_of = [&](nlohmann::json state) {
    write_file_atomic(file, state.dump());
    write_manifest(file.parent_path());
    const Checkpoint checkpoint = *Checkpoint::newest(run.path());
    EXPECT_EQ(checkpoint.state().processes, state.value("processes", 0));
    EXPECT_EQ(checkpoint.state().accumulate, state.value("accumulate", 0));
    Session resumed(run.path(), {.accumulate = 3});
    testing::internal::CaptureStderr();
    resumed.trainer->restore(checkpoint);
    return testing::internal::GetCapturedStderr();
  };
  nlohmann::json state = written;
  EXPECT_EQ(said_of(state), "");
  state["processes"] = 3, state["accumulate"] = 1;
  std::string said = said_of(state);
  EXPECT_NE(said.find("by 3 processes of 1 batch, and is now made by 1 process of 3 batches"), std::string::npos)
      << said;
  EXPECT_NE(said.find("the results may differ in the last bits"), std::string::npos) << said;
  state["processes"] = 2;
  said = said_of(state);
  EXPECT_NE(said.find("by 2 processes of 1 batch, and is now made by 1 process of 3 batches"), std::string::npos)
      << said;
  EXPECT_NE(said.find("the number of batches per update changes"), std::string::npos) << said;
}

TEST(Checkpoint, ASkippedOneIsPutAside) {
  const TemporaryDirectory run;
  Session session(run.path(), {.keep_last = 9});
  session.trainer->train();
  const std::filesystem::path checkpoints = run / "checkpoints";
  const std::string state = read_file(checkpoints / "step-10/state.json");
  clear_later_checkpoints(run.path(), 9, Later::put_aside);  // intact: the fault may have passed
  EXPECT_EQ(read_file(checkpoints / "skipped-step-10/state.json"), state);
  std::filesystem::copy(checkpoints / "step-9", checkpoints / "step-10");
  clear_later_checkpoints(run.path(), 9, Later::put_aside);
  EXPECT_EQ(read_file(checkpoints / "skipped-step-10/state.json"), state);
  EXPECT_TRUE(std::filesystem::exists(checkpoints / "skipped-step-10-2/state.json"));
  clear_later_checkpoints(run.path(), 3, Later::deleted);
  EXPECT_EQ(checkpoint_steps(run.path()), std::vector<std::int64_t>{3});
}

TEST(Checkpoint, OneThatCannotBeMovedIsAnErrorAndOneThatCannotBeDeletedAWarning) {
  const TemporaryDirectory run;
  std::filesystem::permissions(run.path(), std::filesystem::perms::all);
  for (const int step : {1, 2, 3}) std::filesystem::create_directories(checkpoint_path(run.path(), step) / "sub");
  const auto set = [&](std::filesystem::perms perms) { std::filesystem::permissions(run / "checkpoints", perms); };
  set(std::filesystem::perms(0555));
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(1);  // root may do everything
    try {
      remove_old_checkpoints(run.path(), 1, {});
      clear_later_checkpoints(run.path(), 2, Later::put_aside);
      _exit(2);
    } catch (const UserError& error) {
      _exit(std::string(error.what()).find("step-3: cannot be renamed: Permission denied") != std::string::npos ? 7
                                                                                                                : 3);
    } catch (...) {
      _exit(4);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  set(std::filesystem::perms::owner_all);
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

// The events of a log, without what depends on the clock.
std::vector<nlohmann::json> events(const std::filesystem::path& run) {
  std::vector<nlohmann::json> result;
  std::ifstream lines(run / "train.jsonl");
  for (std::string line; std::getline(lines, line);) {
    nlohmann::json& event = result.emplace_back(nlohmann::json::parse(line));
    for (const char* key : {"time", "seconds", "tokens_per_second", "memory_mb"}) event.erase(key);
  }
  return result;
}

TEST(EventLog, OfAKilledRunIsThatOfOneThatNeverStopped) {
  const TemporaryDirectory whole, killed;
  const TrainerConfig config{.max_steps = 12, .log_every = 4};
  Session(whole.path(), config).trainer->train();
  EXPECT_EQ(events(whole.path()).size(), 3 + 4 + 4);  // train at 4, 8 and 12; valid and save at 3, 6, 9 and 12
  // Killed after update 12 in the middle of a line, before step-12 was whole. The line of update 12 averages four.
  Session(killed.path(), config).trainer->train();
  std::filesystem::remove_all(checkpoint_path(killed.path(), 12));
  std::ofstream(killed / "train.jsonl", std::ios::app) << "{\"event\": \"tr";
  Session resumed(killed.path(), config);
  resumed.trainer->restore(*Checkpoint::newest(killed.path()));
  resumed.trainer->train();
  EXPECT_EQ(events(killed.path()), events(whole.path()));
}

TEST(EventLog, IsCutAtTheCheckpoint) {
  const std::string train_3 = R"({"event":"train","step":3})"
                              "\n",
                    save_3 = R"({"event":"save","step":3})"
                             "\n",
                    valid_3 = R"({"event":"valid","step":3})"
                              "\n",
                    train_4 = R"({"event":"train","step":4})"
                              "\n";
  const auto kept = [](const std::string& before, std::int64_t saved) {
    const TemporaryDirectory run;
    std::ofstream(run / "train.jsonl") << before;
    EventLog log(run.path(), saved);
    std::string names;
    for (const nlohmann::json& event : events(run.path())) {
      names += event["event"].get<std::string>() + event["step"].dump() + " ";
    }
    return names;
  };
  EXPECT_EQ(kept(train_3 + save_3 + train_4, 3), "train3 save3 ");
  EXPECT_EQ(kept(train_3 + save_3 + valid_3, 3), "train3 save3 ");  // validated after the checkpoint: due again
  EXPECT_EQ(kept(train_3, 3), "train3 save3 ");                     // killed before the line was written
  EXPECT_EQ(kept(train_3 + train_4, 3), "train3 save3 ");
  EXPECT_EQ(kept(train_3 + "{\"event\": \"sa", 3), "train3 save3 ");
  EXPECT_EQ(kept(train_3 + save_3, -1), "");  // no checkpoint: the run starts over
  EXPECT_EQ(kept("", 0), "save0 ");
  EXPECT_EQ(kept("[1]\n", 3), "save3 ");
}

}  // namespace
}  // namespace attend
