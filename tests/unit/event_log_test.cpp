// The log of a training, of which no line is lost or doubled when the training is killed.
#include <gtest/gtest.h>

#include <fstream>

#include "core/json.hpp"
#include "tests/support/point_task.hpp"
#include "tests/support/temporary.hpp"
#include "train/event_log.hpp"

namespace attend {
namespace {

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
  PointSession(whole.path(), config).trainer->train();
  EXPECT_EQ(events(whole.path()).size(), 3 + 4 + 4);  // train at 4, 8 and 12; valid and save at 3, 6, 9 and 12
  // Killed after update 12 in the middle of a line, before step-12 was whole. The line of update 12 averages four.
  PointSession(killed.path(), config).trainer->train();
  std::filesystem::remove_all(checkpoint_path(killed.path(), 12));
  std::ofstream(killed / "train.jsonl", std::ios::app) << "{\"event\": \"tr";
  PointSession resumed(killed.path(), config);
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
