// Checkpoints of a training: what they refuse to be restored into, what is put aside or deleted, and what is read in
// their place.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/safetensors.hpp"
#include "tests/support/point_task.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

// AdamW and Adam keep the same tensors, so only the name tells them apart.
TEST(Checkpoint, RefusesTheStateOfAnotherOptimiserByName) {
  const TemporaryDirectory run;
  PointSession(run.path()).trainer->train();
  const auto message_of = [&](OptimiserKind kind) {
    return error_and_remedy_of(
        [&] { PointSession(run.path(), {}, kind).trainer->restore(*Checkpoint::newest(run.path())); });
  };
  EXPECT_EQ(message_of(OptimiserKind::adamw), "");
  const std::string message = message_of(OptimiserKind::adam);
  EXPECT_NE(message.find("the state of the optimiser adamw, expected adam"), std::string::npos) << message;
  EXPECT_NE(message.find("--optimiser adamw"), std::string::npos) << message;
}

TEST(Checkpoint, RefusesACheckpointWithoutTheStateOfTheObjective) {
  const TemporaryDirectory run;
  PointSession session(run.path());
  session.trainer->train();
  const std::filesystem::path file = checkpoint_path(run.path(), 10) / "optimizer.safetensors";
  save_tensors(file, session.optimiser->state(), session.optimiser->identity());
  write_manifest(file.parent_path());
  const std::string said =
      user_error_of([&] { PointSession(run.path()).trainer->restore(*Checkpoint::newest(run.path())); });
  EXPECT_NE(said.find("missing objective.baseline"), std::string::npos) << said;
}

TEST(Checkpoint, RemembersWhatAnUpdateLearnsFrom) {
  const TemporaryDirectory run;
  PointSession(run.path(), {.accumulate = 3, .max_steps = 2}).trainer->train();
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
    PointSession resumed(run.path(), {.accumulate = 3});
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
  PointSession session(run.path(), {.keep_last = 9});
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
  PointSession session(run.path());
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

}  // namespace
}  // namespace attend
