// The training loop: what it does at limits, intervals, bad losses and resumption.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "tests/support/point_task.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

TEST(Trainer, StopsAtEachLimit) {
  const TemporaryDirectory run;
  const auto ending = [&](const TrainerConfig& config) {
    std::filesystem::remove_all(run.path() / "checkpoints");
    PointSession session(run.path(), config);
    const StopReason end = session.trainer->train();
    return std::pair(end, session.trainer->state().step);
  };
  EXPECT_EQ(ending({.max_steps = 7}), std::pair(StopReason::max_steps, std::int64_t{7}));
  EXPECT_EQ(ending({.max_epochs = 2}), std::pair(StopReason::max_epochs, std::int64_t{8}));
  EXPECT_EQ(ending({.accumulate = 3, .max_epochs = 2}), std::pair(StopReason::max_epochs, std::int64_t{3}));
  EXPECT_EQ(ending({.max_time = Duration{0}}), std::pair(StopReason::max_time, std::int64_t{0}));
}

// Whether epochs have as many batches as expected or not, and though the resumed run has fewer of them in an update.
TEST(Trainer, EndsWithTheLastEpoch) {
  for (const std::int64_t expected : {3, 4, 5}) {
    const TemporaryDirectory run;
    PointSession(run.path(), {.accumulate = 2, .max_epochs = 1}).trainer->train();
    PointSession resumed(run.path(), {.max_epochs = 2});
    resumed.task.expected_batches = expected;
    resumed.trainer->restore(*Checkpoint::newest(run.path()));
    EXPECT_EQ(resumed.trainer->train(), StopReason::max_epochs);
    EXPECT_EQ(resumed.trainer->state().step, 2 + 4);
    EXPECT_EQ(resumed.trainer->state().position, (DataPosition{.epoch = 2}));
    EXPECT_DOUBLE_EQ(resumed.task.objective.progress.front(), 2.0 / static_cast<double>(2 + expected));
    EXPECT_LT(resumed.task.objective.progress.back(), 1) << "rates would be 0";
  }
}

TEST(Trainer, PatienceCountsValidationsWithoutABest) {
  const TemporaryDirectory run;
  PointSession session(run.path(), {.max_steps = 100, .patience = 2});
  session.task.best_step = 6;
  EXPECT_EQ(session.trainer->train(), StopReason::patience);
  EXPECT_EQ(session.trainer->state().step, 12);
  EXPECT_EQ(read_file(run / "best"), "step-6\n");
}

TEST(Trainer, AMetricThatIsNotFiniteIsNoBest) {
  const TemporaryDirectory run;
  PointSession session(run.path(), {.max_steps = 100, .patience = 2});
  session.task.best_step = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(session.trainer->train(), StopReason::patience);
  EXPECT_EQ(Checkpoint::newest(run.path())->state().step, 6);
  EXPECT_TRUE(session.trainer->state().scores.empty());
}

// The losses of the first updates are above 20.
TEST(Trainer, SaysOnceThatItHasDiverged) {
  for (const bool in_nats : {true, false}) {
    const TemporaryDirectory run;
    PointSession session(run.path(), {.log_every = 1});
    session.task.objective.in_nats = in_nats;
    testing::internal::CaptureStderr();
    session.trainer->train();
    const std::string said = testing::internal::GetCapturedStderr();
    const std::size_t found = said.find("the training has diverged: at update 1, the loss of ");
    EXPECT_EQ(found != std::string::npos, in_nats) << said;
    EXPECT_EQ(said.find("diverged", found + 30), std::string::npos) << said;
  }
}

TEST(Trainer, KeepsTheLastAndTheBest) {
  const TemporaryDirectory run;
  PointSession session(run.path(),
                       {.max_steps = 14, .valid_every = 2, .save_every = 2, .keep_last = 2, .keep_best = 2});
  session.task.best_step = 5;  // 4 and 6 are as near
  session.trainer->train();
  EXPECT_EQ(checkpoint_steps(run.path()), (std::vector<std::int64_t>{4, 6, 12, 14}));
}

// Resumed with other validations, the step of the checkpoint itself is validated: the best, which is saved and kept.
TEST(Trainer, AValidationAtTheResumedStepIsSaved) {
  const TemporaryDirectory run;
  PointSession first(run.path(), {.max_steps = 4, .valid_every = 4, .save_every = 2, .keep_last = 5});
  first.trainer->train();
  std::filesystem::remove_all(checkpoint_path(run.path(), 4));
  PointSession resumed(run.path(), {.max_steps = 8, .valid_every = 2, .save_every = 2, .keep_last = 1});
  resumed.task.best_step = 2;
  resumed.trainer->restore(*Checkpoint::newest(run.path()));
  resumed.trainer->train();
  EXPECT_EQ(checkpoint_steps(run.path()), (std::vector<std::int64_t>{2, 8}));
  EXPECT_EQ(read_file(run / "best"), "step-2\n");
  EXPECT_EQ(Checkpoint(checkpoint_path(run.path(), 2)).state().scores.front().step, 2);
}

// Step 2 was the best when step 4 was saved, and is deleted after step 6, which is better.
TEST(Trainer, ADeletedCheckpointIsNoBest) {
  const TemporaryDirectory run;
  PointSession first(run.path(), {.max_steps = 6, .valid_every = 2, .save_every = 2});
  first.task.while_validating = [&](std::int64_t step) { first.task.best_step = step == 4 ? 9 : step == 2 ? 3 : 6; };
  first.trainer->train();
  ASSERT_EQ(checkpoint_steps(run.path()), (std::vector<std::int64_t>{4, 6}));
  const Checkpoint earlier(checkpoint_path(run.path(), 4));
  ASSERT_EQ(earlier.state().scores.front().step, 2);
  PointSession resumed(run.path());
  resumed.trainer->restore(earlier);
  EXPECT_TRUE(resumed.trainer->state().scores.empty());
}

class TrainerOf : public testing::TestWithParam<EnumName<OptimiserKind>> {};

TEST_P(TrainerOf, ResumeIsTheSameRun) {
  const TemporaryDirectory whole, parts;
  PointSession never_stopped(whole.path(), {.accumulate = 3, .max_steps = 9}, GetParam().first);
  never_stopped.task.objective.baseline_weight = 0.01;
  never_stopped.trainer->train();
  PointSession first(parts.path(), {.accumulate = 3, .max_steps = 5}, GetParam().first);
  first.task.objective.baseline_weight = 0.01;
  first.trainer->train();
  PointSession second(parts.path(), {.accumulate = 3, .max_steps = 9}, GetParam().first);
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
  EXPECT_EQ(second.task.objective.progress.front(), 5.0 / 9);
}

INSTANTIATE_TEST_SUITE_P(All, TrainerOf, testing::ValuesIn(kEnumNames<OptimiserKind>),
                         [](const auto& test) { return std::string(test.param.second); });

TEST(Trainer, ALongerTrainingDoesNotGoBackToAPhase) {
  const TemporaryDirectory run;
  PointSession first(run.path(), {.max_steps = 4});
  first.task.second_phase = 0.5;
  first.trainer->train();
  EXPECT_EQ(first.trainer->state().position, (DataPosition{.epoch = 0, .batch = 2, .phase = 1}));
  PointSession longer(run.path(), {.max_steps = 16});
  longer.task.second_phase = 0.5;
  longer.trainer->restore(*Checkpoint::newest(run.path()));
  longer.trainer->train();
  EXPECT_EQ(longer.trainer->state().position, (DataPosition{.epoch = 3, .batch = 2, .phase = 1}));
}

TEST(Trainer, AccumulationIsExact) {
  const TemporaryDirectory run;
  // Batches of 1 to 4 examples around targets 0 to 3: the gradient of their joint mean is 2 (x - (0 + 2 + 6 + 12) /
  // 10), and AdamW's first step goes by the rate against its sign.
  PointSession session(run.path(), {.accumulate = 4, .max_steps = 1});
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
  PointSession session(run.path(), {.ema = kDecay, .max_steps = 5, .valid_every = 2, .save_every = 5});
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
  PointSession without(usual.path(), {.max_steps = 5, .valid_every = 2, .save_every = 5});
  without.trainer->train();
  EXPECT_EQ(without.weights(), session.weights());
}

TEST(Trainer, AResumedAverageIsTheSame) {
  const TemporaryDirectory whole, parts;
  PointSession(whole.path(), {.accumulate = 3, .ema = 0.9, .max_steps = 9}).trainer->train();
  PointSession(parts.path(), {.accumulate = 3, .ema = 0.9, .max_steps = 5}).trainer->train();
  PointSession second(parts.path(), {.accumulate = 3, .ema = 0.9, .max_steps = 9});
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
  PointSession without(usual.path(), {.max_steps = 6});
  without.trainer->train();
  PointSession session(run.path(), {.ema = 0.9, .max_steps = 6});
  int calls = 0;
  session.task.while_validating = [&](std::int64_t) {
    if (++calls == 1) throw Interrupted("");
  };
  session.trainer->train();
  EXPECT_EQ(session.weights(), without.weights());
}

TEST(Trainer, StopsBeforeALossThatIsNotFinite) {
  const TemporaryDirectory run;
  PointSession session(run.path());
  session.task.objective.spoilt = Spoilt::loss;
  const std::string error = user_error_of([&] { session.trainer->train(); });
  EXPECT_NE(error.find("update 7 (epoch 2, batch 3)"), std::string::npos) << error;
  EXPECT_TRUE(std::isfinite(session.weights()[0]));
  EXPECT_EQ(checkpoint_steps(run.path()).back(), 6);
  const auto report = read_json(run / "nonfinite-step-7.json");
  EXPECT_EQ(report["batches"][0]["examples"], (std::vector<int>{20, 21, 22}));
  EXPECT_EQ(session.task.point->layer->refreshed, 6);
}

TEST(Trainer, SkipsABatchThatMakesSomethingInfinite) {
  for (const Spoilt spoilt : {Spoilt::loss, Spoilt::gradient, Spoilt::statistics}) {
    const TemporaryDirectory run, untroubled;
    PointSession stopped(run.path(), {.save_every = 100});
    stopped.task.objective.baseline_weight = 0.01;
    stopped.task.objective.spoilt = spoilt;
    EXPECT_THROW(stopped.trainer->train(), UserError);
    EXPECT_EQ(checkpoint_steps(run.path()), (std::vector<std::int64_t>{3, 6}));  // best at 3, and the sound state
    PointSession expected(untroubled.path(), {.max_steps = 6});
    expected.task.objective.baseline_weight = 0.01;
    expected.trainer->train();
    EXPECT_EQ(learnt(run.path(), 6), learnt(untroubled.path(), 6)) << "something was updated";
    PointSession resumed(run.path());
    resumed.task.objective.baseline_weight = 0.01;
    resumed.task.objective.spoilt = spoilt;
    resumed.trainer->restore(*Checkpoint::newest(run.path()));
    resumed.trainer->skip_batches();
    EXPECT_EQ(resumed.trainer->train(), StopReason::max_steps);
    EXPECT_EQ(resumed.trainer->state().position, (DataPosition{.epoch = 2, .batch = 3}));  // 10 updates of 11 batches
    EXPECT_TRUE(std::isfinite(resumed.task.objective.baseline.item<float>()));
  }
}

// Saved as the last update of the first phase; the batch that stopped the run is the first of the second.
TEST(Trainer, SkipsTheBatchOfTheNextPhase) {
  const TemporaryDirectory run;
  PointSession(run.path(), {.max_steps = 4}).trainer->train();
  PointSession resumed(run.path(), {.max_steps = 8});
  resumed.task.second_phase = 0.5;
  resumed.trainer->restore(*Checkpoint::newest(run.path()));
  resumed.trainer->skip_batches();
  EXPECT_EQ(resumed.trainer->state().position, (DataPosition{.batch = 1, .phase = 1}));
}

}  // namespace
}  // namespace attend
