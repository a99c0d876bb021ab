// Each schedule against its closed form.
#include "train/schedule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace attend {
namespace {

ScheduleConfig make(ScheduleKind kind, std::int64_t warmup, double decay_last = 0) {
  return {.schedule = kind, .learning_rate = 2.0, .warmup_steps = warmup, .decay_last = decay_last};
}

TEST(Schedule, WarmsUpLinearlyToThePeak) {
  for (const auto& [kind, name] : kEnumNames<ScheduleKind>) {
    const ScheduleConfig config = make(kind, 10);
    EXPECT_DOUBLE_EQ(learning_rate_at(config, 1, 100), 0.2) << name;
    EXPECT_DOUBLE_EQ(learning_rate_at(config, 5, 100), 1.0) << name;
    EXPECT_DOUBLE_EQ(learning_rate_at(config, 10, 100), 2.0) << name;
  }
}

TEST(Schedule, FallsAsItsNameSays) {
  EXPECT_DOUBLE_EQ(learning_rate_at(make(ScheduleKind::constant, 10), 90, 100), 2.0);
  ScheduleConfig by_clock = make(ScheduleKind::constant, 10);
  by_clock.end = ScheduleEnd::max_time;
  EXPECT_DOUBLE_EQ(learning_rate_at(by_clock, 5, 50), 2.0);  // the warm-up is a tenth at most
  EXPECT_DOUBLE_EQ(learning_rate_at(make(ScheduleKind::inverse_sqrt, 10), 40, 100), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate_at(make(ScheduleKind::inverse_sqrt, 0), 4, 100), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate_at(make(ScheduleKind::linear, 11), 56, 100), 2.0 * 45 / 90);
  EXPECT_DOUBLE_EQ(learning_rate_at(make(ScheduleKind::linear, 11), 100, 100), 2.0 / 90);
  EXPECT_DOUBLE_EQ(learning_rate_at(make(ScheduleKind::cosine, 11), 71, 100), 1 - std::cos(std::numbers::pi * 30 / 90));
  EXPECT_DOUBLE_EQ(learning_rate_at(make(ScheduleKind::linear, 0), 1, 100), 2.0);
}

// Luong et al. 2015, 4.1: ten epochs, here of ten updates.
TEST(Schedule, HalvesEveryEpochAfterFive) {
  const ScheduleConfig luong = make(ScheduleKind::halving, 0);
  for (std::int64_t step = 1; step <= 100; ++step) {
    const std::int64_t epoch = (step - 1) / 10;
    const double expected = 2.0 * std::exp2(epoch < 5 ? 0 : 4 - epoch);
    EXPECT_DOUBLE_EQ(learning_rate_at(luong, step, 100), expected) << step;
  }
  ScheduleConfig sooner = make(ScheduleKind::halving, 0);  // 15 updates: halved after 3 and then every 4.5
  sooner.halve_after = 0.2;
  sooner.halve_every = 0.3;
  const std::vector<double> rates = {2, 2, 2, 1, 1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25};
  for (std::size_t i = 0; i < rates.size(); ++i) {
    EXPECT_DOUBLE_EQ(learning_rate_at(sooner, static_cast<std::int64_t>(i) + 1, 15), rates[i]) << i;
  }
}

TEST(Schedule, LastShareGoesLinearlyToZero) {
  const ScheduleConfig config = make(ScheduleKind::constant, 10, 0.3);
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 70, 100), 2.0);
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 71, 100), 2.0 * 30 / 31);
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 100, 100), 2.0 / 31);
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 101, 100), 0);
}

}  // namespace
}  // namespace attend
