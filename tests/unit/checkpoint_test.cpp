// Checkpoints: writing, reading, the tensors in them, and the kind of their run.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/safetensors.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "models/run/checkpoint_reader.hpp"
#include "models/translation/factory.hpp"
#include "tests/support/point_task.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

// Checkpoints of a training: what they refuse to be restored into, what is put aside or deleted, and what is read in
// their place.

TEST(Checkpoint, RefusesTheStateOfAnotherOptimiserByName) {
  const TemporaryDirectory run;
  PointSession(run.path()).trainer->train();
  const auto message_of = [&](OptimiserKind kind) {
    return error_and_remedy_of(
        [&] { PointSession(run.path(), {}, kind).trainer->restore(*Checkpoint::newest(run.path())); });
  };
  EXPECT_EQ(message_of(OptimiserKind::adamw), "");
  const std::string message = message_of(OptimiserKind::adadelta);
  EXPECT_NE(message.find("the state of the optimiser adamw, expected adadelta"), std::string::npos) << message;
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

TEST_F(CheckpointReader, AutoUsesTheNewestWhereBestIsNoCheckpoint) {
  for (const char* name : {"../../etc\n", "\xFF\xFE\n", "", "step-11\n"}) {  // the last has no checkpoint
    write_file_atomic(run_ / "best", name);
    EXPECT_THROW(find_weights(run_, "best"), UserError) << name;
    EXPECT_EQ(find_weights(run_, "last"), weights(200)) << name;
    testing::internal::CaptureStderr();
    EXPECT_EQ(find_weights(run_, "auto"), weights(200)) << name;
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("best: "), std::string::npos) << said;
    EXPECT_NE(said.find("using "), std::string::npos) << said;
  }
}

TEST_F(CheckpointReader, RefusesPathsThatDoNotExist) {
  EXPECT_THROW(find_weights(run_, "step-11"), UserError);
  EXPECT_THROW(find_weights(run_ / "elsewhere", "auto"), UserError);
}

ModelConfig tiny() {
  ModelConfig config;
  config.encoder_layers = config.decoder_layers = 1;
  config.width = 8;
  config.block.heads = 2;
  config.dropout = 0.1;
  return config;
}

std::string message_of(const std::filesystem::path& path, const torch::nn::Module& module) {
  return user_error_of([&] { load_weights(path, module); });
}

TEST(WeightsIo, ComeBackBitForBit) {
  const TemporaryDirectory directory;
  const auto path = directory / "model.safetensors";
  const auto model = make_seq2seq(tiny(), {.src = 11, .tgt = 11}, 1);
  save_tensors(path, parameters_of(*model));
  const auto other = make_seq2seq(tiny(), {.src = 11, .tgt = 11}, std::nullopt);
  load_weights(path, *other);
  for (const auto& [name, tensor] : parameters_of(*other)) {
    EXPECT_TRUE(torch::equal(tensor, model->named_parameters()[name])) << name;
  }
}

TEST(WeightsIo, AreParametersAndTheStateOfLayers) {
  const TemporaryDirectory directory;
  const auto path = directory / "model.safetensors";
  ModelConfig config = tiny();
  config.block.norm_kind = NormKind::batch;
  const auto model = make_seq2seq(config, {.src = 11, .tgt = 11}, 1);
  const NamedTensors buffers = buffers_of(*model);
  // A mean and a variance of five norms; not the table of positions.
  EXPECT_EQ(buffers.size(), 10U);
  EXPECT_EQ(weights_of(*model).size(), parameters_of(*model).size() + 10);
  for (const auto& [name, tensor] : buffers) tensor.uniform_(1, 2);
  save_tensors(path, weights_of(*model));
  const auto other = make_seq2seq(config, {.src = 11, .tgt = 11}, 1);
  load_weights(path, *other);
  for (const auto& [name, tensor] : buffers) {
    EXPECT_TRUE(torch::equal(other->named_buffers()[name], tensor)) << name;
  }
}

TEST(WeightsIo, SaysWhatDoesNotFit) {
  const TemporaryDirectory directory;
  const auto path = directory / "model.safetensors";
  auto tensors = parameters_of(*make_seq2seq(tiny(), {.src = 11, .tgt = 11}, 1));
  const auto other = make_seq2seq(tiny(), {.src = 11, .tgt = 11}, 2);
  const auto before = parameters_of(*other)[0].second.detach().clone();
  tensors[0].second = torch::zeros({3, 8});
  tensors[1].first = "stranger";
  const std::string missing = parameters_of(*other)[1].first;
  save_tensors(path, tensors);
  const std::string message = message_of(path, *other);
  EXPECT_NE(message.find("missing " + missing), std::string::npos) << message;
  EXPECT_NE(message.find("unused stranger"), std::string::npos) << message;
  EXPECT_NE(message.find("F32 [3, 8], expected F32 [11, 8]"), std::string::npos) << message;
  EXPECT_TRUE(torch::equal(parameters_of(*other)[0].second, before));
}

TEST(WeightsIo, LoadsWhatIsCommonAndLeavesTheRest) {
  const TemporaryDirectory directory;
  const auto path = directory / "model.safetensors";
  const auto source = make_seq2seq(tiny(), {.src = 11, .tgt = 11}, 1),
             model = make_seq2seq(tiny(), {.src = 11, .tgt = 11}, 2);
  auto theirs = parameters_of(*source);
  const auto ours = parameters_of(*model);
  theirs[0].second = torch::zeros({3, 8});
  theirs[1].first = "stranger";
  save_tensors(path, theirs);
  NamedTensors before, wanted = ours;
  for (const auto& [name, tensor] : ours) before.emplace_back(name, tensor.detach().clone());
  const std::string left = wanted.back().first;  // in the file, but not asked for
  wanted.pop_back();
  visit_weights(*model, [](ops::Weight& weight) { weight.set_precision(Precision::bf16); });
  WeightReport report = load_common_weights(path, *model, wanted);
  EXPECT_EQ(report.missing, std::vector<std::string>{ours[1].first});
  ASSERT_EQ(report.mismatched.size(), 1U);
  EXPECT_NE(report.mismatched[0].find(ours[0].first), std::string::npos) << report.mismatched[0];
  std::ranges::sort(report.unused);
  EXPECT_EQ(report.unused, (std::vector<std::string>{left, "stranger"}));
  EXPECT_EQ(report.loaded, ours.size() - 3);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const bool loaded = i > 1 && i + 1 < ours.size();
    EXPECT_TRUE(torch::equal(ours[i].second, loaded ? theirs[i].second : before[i].second)) << ours[i].first;
  }
  // The copies that matrix products read are of the loaded weights.
  visit_weights(*model, [](ops::Weight& weight) {
    EXPECT_TRUE(torch::equal(weight.working(), weight.master().to(torch::kBFloat16)));
  });
}

}  // namespace
}  // namespace attend
