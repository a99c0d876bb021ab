#include "models/run/checkpoint_reader.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/safetensors.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

namespace fs = std::filesystem;

class CheckpointReader : public testing::Test {
 protected:
  CheckpointReader() {
    for (const std::int64_t step : {10, 9, 200}) {
      make_directories(checkpoint_path(run_, step));
      write_file_atomic(weights(step), "weights of " + std::to_string(step));
      write_manifest(checkpoint_path(run_, step));
    }
    make_directories(run_ / "checkpoints" / "step-300.tmp");
  }

  fs::path weights(std::int64_t step) const { return checkpoint_path(run_, step) / "model.safetensors"; }
  void damage(std::int64_t step) const { write_file_atomic(weights(step), "torn"); }

  TemporaryDirectory directory_;
  fs::path run_ = directory_ / "run";
};

TEST_F(CheckpointReader, StepsAreNumbersInOrder) {
  EXPECT_EQ(checkpoint_steps(run_), (std::vector<std::int64_t>{9, 10, 200}));
}

TEST_F(CheckpointReader, BestIsWhatTheRunSaysAndElseTheNewest) {
  EXPECT_EQ(find_weights(run_, "best"), weights(200));
  EXPECT_EQ(find_weights(run_, "auto"), weights(200));
  write_file_atomic(run_ / "best", "step-9\n");
  EXPECT_EQ(find_weights(run_, "best"), weights(9));
  EXPECT_EQ(find_weights(run_, "last"), weights(200));
  EXPECT_EQ(find_weights(run_, checkpoint_path(run_, 10)), weights(10));
  EXPECT_EQ(find_weights(run_, weights(10)), weights(10));
  EXPECT_EQ(find_weights(run_, "step-10"), weights(10));
}

TEST_F(CheckpointReader, ADamagedOneIsPassedOverUnlessItWasAskedFor) {
  damage(200);
  EXPECT_EQ(find_weights(run_, "auto"), weights(10));
  EXPECT_THROW(find_weights(run_, "last"), UserError);
  EXPECT_THROW(find_weights(run_, checkpoint_path(run_, 200)), UserError);
  write_file_atomic(run_ / "best", "step-9\n");
  EXPECT_EQ(find_weights(run_, "auto"), weights(9));
  damage(9);
  EXPECT_THROW(find_weights(run_, "best"), UserError);
  EXPECT_EQ(find_weights(run_, "auto"), weights(10));
  damage(10);
  EXPECT_THROW(find_weights(run_, "auto"), UserError);
}

TEST_F(CheckpointReader, AutoUsesTheNewestWhereBestIsDamaged) {
  for (const char* name : {"../../etc\n", "\xFF\xFE\n", "", "step-11\n"}) {
    write_file_atomic(run_ / "best", name);
    testing::internal::CaptureStderr();
    EXPECT_EQ(find_weights(run_, "auto"), weights(200)) << name;
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("best: "), std::string::npos) << said;
    EXPECT_NE(said.find("using "), std::string::npos) << said;
  }
}

TEST_F(CheckpointReader, RefusesABestThatIsNoCheckpointAndPathsThatDoNotExist) {
  for (const char* name : {"../../etc\n", "\xFF\xFE\n", "", "step-11\n"}) {  // the last has no checkpoint
    write_file_atomic(run_ / "best", name);
    EXPECT_THROW(find_weights(run_, "best"), UserError) << name;
    EXPECT_EQ(find_weights(run_, "last"), weights(200)) << name;
  }
  EXPECT_THROW(find_weights(run_, "step-11"), UserError);
  EXPECT_THROW(find_weights(run_ / "elsewhere", "auto"), UserError);
}

}  // namespace
}  // namespace attend
