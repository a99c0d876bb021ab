// The training loop in several processes, and one that is told to stop.
#include <gtest/gtest.h>

#include <csignal>
#include <limits>

#include "core/error.hpp"
#include "core/process.hpp"
#include "tests/support/point_task.hpp"
#include "tests/support/several_ranks.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

// Of eight batches the last round of three ranks has two.
TEST_F(SeveralRanks, TrainAsOneThatAccumulates) {
  in_ranks(3, [](Ranks& ranks) {
    const TemporaryDirectory of_one, of_this;
    PointSession one(of_one.path(), {.accumulate = 3, .max_epochs = 2});
    one.task.objective.baseline_weight = 0.01;
    EXPECT_EQ(one.trainer->train(), StopReason::max_epochs);
    const std::filesystem::path run = ranks.from_first(of_this.path().string());
    PointSession several(run, {.max_epochs = 2}, OptimiserKind::adamw, &ranks);
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
  PointSession session(run, {.save_every = 100}, OptimiserKind::adamw, &ranks);
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
    PointSession session(run, {.save_every = 100}, OptimiserKind::adamw, &ranks);
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

// Told to stop between the batches of its third update, a training saves the state after two.
TEST_F(SeveralRanks, AStopBetweenTheBatchesOfAnUpdateLeavesTheStateBefore) {
  in_ranks(1, [](Ranks&) {
    const TemporaryDirectory whole, parts;
    PointSession expected(whole.path(), {.accumulate = 3, .max_steps = 2});
    expected.task.objective.baseline_weight = 0.01;
    expected.trainer->train();
    signals::install();
    PointSession stopped(parts.path(), {.accumulate = 3, .max_steps = 9});
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

}  // namespace
}  // namespace attend
