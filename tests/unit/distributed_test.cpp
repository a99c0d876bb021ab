// Several processes: how they find each other, what they do together, and their trainers.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/process.hpp"
#include "tests/support/point_task.hpp"
#include "tests/support/several_ranks.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"
#include "train/distributed/ranks.hpp"
#include "train/memory_limit.hpp"
#include "train/run_directory.hpp"

namespace attend {
namespace {

// How a process learns which of several it is, and what it takes of the machine then.

using Variables = std::map<std::string, std::string>;

// Nothing that starts processes is set but these; in the end what was set before is so again.
class LaunchEnvironment {
 public:
  explicit LaunchEnvironment(const Variables& variables) {
    for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
                             "TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_RESTART_COUNT"}) {
      if (const char* value = std::getenv(name)) before_[name] = value;
      unsetenv(name);
      names_.emplace_back(name);
    }
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  }
  LaunchEnvironment(const LaunchEnvironment&) = delete;
  LaunchEnvironment& operator=(const LaunchEnvironment&) = delete;
  ~LaunchEnvironment() {
    for (const std::string& name : names_) unsetenv(name.c_str());
    for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  std::vector<std::string> names_;
  Variables before_;
};

Launch launch_of(const Variables& variables) {
  const LaunchEnvironment environment(variables);
  return Launch::from_environment();
}

std::string refusal_of(const Variables& variables) {
  try {
    launch_of(variables);
  } catch (const UserError& error) {
    EXPECT_NE(error.remedy().find("start the processes by torchrun"), std::string::npos) << error.remedy();
    return error.what();
  }
  return "none";
}

Variables second_of_three(const Variables& others = {}) {
  Variables variables = {{"RANK", "1"}, {"WORLD_SIZE", "3"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29500"}};
  for (const auto& [name, value] : others) variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

TEST(Launch, IsAloneWhereNothingIsSet) {
  for (const Variables& variables :
       {Variables{}, Variables{{"RANK", ""}, {"WORLD_SIZE", ""}},
        Variables{{"MASTER_ADDR", "there"}, {"LOCAL_RANK", "3"}}, Variables{{"RANK", "0"}, {"WORLD_SIZE", "1"}}}) {
    const Launch launch = launch_of(variables);
    EXPECT_FALSE(launch.several());
    EXPECT_FALSE(launch.listens);
    EXPECT_EQ(std::pair(launch.rank, launch.size), std::pair(0, 1));
    EXPECT_EQ(std::pair(launch.local_rank, launch.local_size), std::pair(0, 1));
  }
}

TEST(Launch, IsOneOfSeveral) {
  const Launch launch = launch_of(second_of_three());
  EXPECT_TRUE(launch.several());
  EXPECT_EQ(std::pair(launch.rank, launch.size), std::pair(1, 3));
  EXPECT_EQ(std::pair(launch.local_rank, launch.local_size), std::pair(0, 1));  // each on a machine of its own
  EXPECT_EQ(launch.where(), "127.0.0.1:29500");
  EXPECT_EQ(launch.attempt, 0);
  const Launch on_one_machine =
      launch_of(second_of_three({{"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}, {"TORCHELASTIC_RESTART_COUNT", "4"}}));
  EXPECT_EQ(std::pair(on_one_machine.local_rank, on_one_machine.local_size), std::pair(1, 2));
  EXPECT_EQ(on_one_machine.attempt, 4);
}

TEST(Launch, TheFirstListensUnlessTorchrunDoes) {
  EXPECT_TRUE(launch_of(second_of_three({{"RANK", "0"}})).listens);
  EXPECT_TRUE(launch_of(second_of_three({{"RANK", "0"}, {"TORCHELASTIC_USE_AGENT_STORE", "False"}})).listens);
  EXPECT_FALSE(launch_of(second_of_three({{"RANK", "0"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}})).listens);
  EXPECT_FALSE(launch_of(second_of_three()).listens);
}

TEST(Launch, RefusesWhatIsIncomplete) {
  EXPECT_EQ(refusal_of({{"WORLD_SIZE", "2"}}), "WORLD_SIZE is set in the environment, but RANK is not");
  EXPECT_EQ(refusal_of({{"RANK", "0"}}), "RANK is set in the environment, but WORLD_SIZE is not");
  EXPECT_EQ(refusal_of(without(second_of_three(), "MASTER_ADDR")), "WORLD_SIZE=3, but MASTER_ADDR is not set");
  EXPECT_EQ(refusal_of(without(second_of_three(), "MASTER_PORT")), "WORLD_SIZE=3, but MASTER_PORT is not set");
}

TEST(Launch, RefusesNumbersThatCannotBe) {
  const std::vector<std::pair<Variables, std::string>> cases = {
      {{{"RANK", "3"}}, "RANK=3: expected a number from 0 to 2"},
      {{{"RANK", "-1"}}, "RANK=-1: expected a number from 0 to 2"},
      {{{"RANK", "one"}}, "RANK=one: expected a number from 0 to 2"},
      {{{"RANK", "1 "}}, "RANK=1 : expected a number from 0 to 2"},
      {{{"WORLD_SIZE", "0"}}, "WORLD_SIZE=0: expected a number from 1 to 65535"},
      {{{"WORLD_SIZE", "2.0"}}, "WORLD_SIZE=2.0: expected a number from 1 to 65535"},
      {{{"WORLD_SIZE", "99999999999999999999"}}, "WORLD_SIZE=99999999999999999999: expected a number from 1 to 65535"},
      {{{"LOCAL_WORLD_SIZE", "4"}}, "LOCAL_WORLD_SIZE=4: expected a number from 1 to 3"},
      {{{"LOCAL_RANK", "1"}}, "LOCAL_RANK=1: expected a number from 0 to 0"},
      {{{"LOCAL_RANK", "2"}, {"LOCAL_WORLD_SIZE", "2"}}, "LOCAL_RANK=2: expected a number from 0 to 1"},
      {{{"MASTER_PORT", "0"}}, "MASTER_PORT=0: expected a number from 1 to 65535"},
      {{{"MASTER_PORT", "65536"}}, "MASTER_PORT=65536: expected a number from 1 to 65535"},
      {{{"TORCHELASTIC_RESTART_COUNT", "x"}}, "TORCHELASTIC_RESTART_COUNT=x: expected a number from 0 to 1000000"},
  };
  for (const auto& [variables, message] : cases) EXPECT_EQ(refusal_of(second_of_three(variables)), message);
}

// Resolves the threads of one process, and gives what it says.
std::string said_of_threads(RunConfig& run, const Launch& launch) {
  run.device = "cpu";
  testing::internal::CaptureStderr();
  run.resolve(launch);
  return testing::internal::GetCapturedStderr();
}

TEST(Launch, ProcessesOfAMachineShareItsCores) {
  const int cores = static_cast<int>(usable_processors());
  const int share = std::max(1, cores / 2);
  const Launch first{.rank = 0, .size = 2, .local_rank = 0, .local_size = 2};
  const Launch second{.rank = 1, .size = 2, .local_rank = 1, .local_size = 2};
  const Launch elsewhere{.rank = 1, .size = 2};
  RunConfig alone, run_of_first, run_of_second, run_elsewhere;
  EXPECT_EQ(said_of_threads(alone, {}), "");
  EXPECT_EQ(alone.threads, at::get_num_threads());
  said_of_threads(run_of_first, first);
  EXPECT_EQ(run_of_first.threads, share);
  said_of_threads(run_of_second, second);
  EXPECT_EQ(run_of_second.threads, share);
  said_of_threads(run_elsewhere, elsewhere);
  EXPECT_EQ(run_elsewhere.threads, cores);
}

TEST(Launch, CoresAreThoseOfTheAffinityMask) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  std::size_t core = 0;
  while (!CPU_ISSET(core, &before)) ++core;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  RunConfig run;
  said_of_threads(run, {.rank = 1, .size = 2});
  const std::size_t threads_of_work = usual_threads();
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(run.threads, 1);
  EXPECT_EQ(threads_of_work, 1u);
}

TEST(Launch, WarnsOfMoreThreadsThanCores) {
  const int cores = static_cast<int>(usable_processors());
  const Launch first{.rank = 0, .size = 2, .local_rank = 0, .local_size = 2};
  const Launch second{.rank = 1, .size = 2, .local_rank = 1, .local_size = 2};
  RunConfig too_many, said_once, alone, few;
  too_many.threads = said_once.threads = alone.threads = cores;
  const std::string said = said_of_threads(too_many, first);
  const std::string expected =
      "2 processes of " + std::to_string(cores) + " threads share the " + std::to_string(cores) + " cores";
  EXPECT_NE(said.find(expected), std::string::npos) << said;
  EXPECT_NE(said.find("--threads " + std::to_string(std::max(1, cores / 2))), std::string::npos) << said;
  EXPECT_EQ(too_many.threads, cores);
  EXPECT_EQ(said_of_threads(said_once, second), "");
  EXPECT_EQ(said_of_threads(alone, {}), "");
  if (cores == 1) return;
  few.threads = cores / 2;
  EXPECT_EQ(said_of_threads(few, first), "");
}

TEST(Launch, NcclJoinsNoProcessors) {
  RunConfig run;
  run.device = "cpu";
  run.backend = CommunicationBackend::nccl;
  EXPECT_TRUE(user_error_of([&] { run.resolve({}); }).starts_with("--backend nccl: "));
}

// The limit of a process that shares the machine with others, in bytes.
rlim_t limit_of_one_of(int processes) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    refuse_memory_beyond_machine(processes);
    rlimit bound{};
    getrlimit(RLIMIT_DATA, &bound);
    _exit(write(ends[1], &bound.rlim_cur, sizeof bound.rlim_cur) == sizeof bound.rlim_cur ? 0 : 1);
  }
  rlim_t limit = 0;
  EXPECT_EQ(read(ends[0], &limit, sizeof limit), static_cast<ssize_t>(sizeof limit));
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  for (const int end : ends) close(end);
  return limit;
}

// What others take or free meanwhile is far less than the difference.
TEST(MemoryLimit, ProcessesOfAMachineShareWhatIsFree) {
  const rlim_t alone = limit_of_one_of(1), of_two = limit_of_one_of(2), of_many = limit_of_one_of(1'000'000);
  if (alone == RLIM_INFINITY) GTEST_SKIP() << "the free memory of this machine is unknown";
  const auto free_of = [&](rlim_t limit) { return static_cast<double>(limit - of_many); };
  EXPECT_GT(free_of(alone), 0);
  EXPECT_NEAR(free_of(of_two) / free_of(alone), 0.5, 0.2);
}

// What processes that train together tell each other, and what they learn when one of them is lost.

using namespace std::chrono_literals;

TEST(RanksAlone, ChangeNothing) {
  Ranks alone;
  EXPECT_EQ(alone.rank(), 0);
  EXPECT_EQ(alone.size(), 1);
  EXPECT_TRUE(alone.first() && !alone.several());
  EXPECT_EQ(alone.shard().index, 0);
  EXPECT_EQ(alone.shard().count, 1);
  EXPECT_EQ(alone.sum(0.1), 0.1);
  std::vector<double> numbers = {1.5, -2};
  alone.sum(numbers);
  EXPECT_EQ(numbers, (std::vector<double>{1.5, -2}));
  EXPECT_EQ(alone.from_first("text"), "text");
  torch::Tensor tensor = at::full({3}, 7.0F);
  alone.from_first(tensor);
  EXPECT_TRUE(at::equal(tensor, at::full({3}, 7.0F)));
  EXPECT_EQ(alone.gather("own"), std::vector<std::string>{"own"});
  EXPECT_EQ(alone.on_first([] { return std::vector<double>{3}; }), std::vector<double>{3});
  int times = 0;
  alone.together([&] { ++times; });
  EXPECT_EQ(times, 1);
  EXPECT_THROW(alone.together([] { throw Interrupted("why"); }), Interrupted);
  alone.compare({{"--width", "32"}});
  alone.leave();
}

TEST_F(SeveralRanks, ShareNumbersTextsAndTensors) {
  in_ranks(3, [](Ranks& ranks) {
    EXPECT_EQ(ranks.size(), 3);
    EXPECT_EQ(ranks.first(), ranks.rank() == 0);
    EXPECT_EQ(ranks.shard().index, ranks.rank());
    EXPECT_EQ(ranks.shard().count, 3);
    EXPECT_EQ(ranks.sum(1 << ranks.rank()), 7);
    std::vector<double> numbers = {1.0 * ranks.rank(), 0.25, -10.0 * ranks.rank()};
    ranks.sum(numbers);
    EXPECT_EQ(numbers, (std::vector<double>{3, 0.75, -30}));
    ranks.sum(std::span<double>());
    // Two sums at a time, and numbers whose sum depends on the order: the same bits on all.
    at::manual_seed(static_cast<std::uint64_t>(5 + ranks.rank()));
    torch::Tensor large = at::randn({1000, 37});
    torch::Tensor whole = at::full({2, 2}, ranks.rank(), at::kLong);
    const auto first = ranks.begin_sum(large), second = ranks.begin_sum(whole);
    first->wait();
    second->wait();
    EXPECT_TRUE(at::equal(whole, at::full({2, 2}, 3, at::kLong)));
    torch::Tensor of_first = large.clone();
    ranks.from_first(of_first);
    EXPECT_TRUE(at::equal(large, of_first));
    torch::Tensor expected = at::zeros({1000, 37});
    for (std::uint64_t rank = 0; rank < 3; ++rank) {
      at::manual_seed(5 + rank);
      expected += at::randn({1000, 37});
    }
    EXPECT_TRUE(at::allclose(large, expected, 0, 1e-5));

    for (const std::string& text : {std::string("déjà\0vu", 9), std::string(), std::string(100'000, 'x')}) {
      EXPECT_EQ(ranks.from_first(ranks.first() ? text : "another"), text);
    }
    torch::Tensor tensor = at::arange(6, at::kFloat).view({2, 3}) + 10 * ranks.rank();
    ranks.from_first(tensor);
    EXPECT_TRUE(at::equal(tensor, at::arange(6, at::kFloat).view({2, 3})));

    const std::vector<std::string> texts = {"", "one", std::string("a longer\0text", 13)};
    EXPECT_EQ(ranks.gather(texts[static_cast<std::size_t>(ranks.rank())]), texts);
    EXPECT_EQ(ranks.gather(""), std::vector<std::string>(3));
    EXPECT_EQ(ranks.gather(ranks.first() ? "only" : ""), (std::vector<std::string>{"only", "", ""}));
  });
}

TEST_F(SeveralRanks, WorkOnTheFirstAndTogether) {
  in_ranks(3, [](Ranks& ranks) {
    int times = 0;
    const std::vector<double> result = ranks.on_first([&] {
      ++times;
      return std::vector<double>{1.5, -2};
    });
    EXPECT_EQ(times, ranks.first() ? 1 : 0);
    EXPECT_EQ(result, (std::vector<double>{1.5, -2}));
    EXPECT_EQ(ranks.on_first([] { return std::vector<double>(); }), std::vector<double>());
    EXPECT_THROW(ranks.on_first([]() -> std::vector<double> { throw Interrupted("stopped"); }), Interrupted);
    ranks.together([&] { ++times; });
    EXPECT_EQ(times, ranks.first() ? 2 : 1);
    for (int one = 0; one < 3; ++one) {
      const auto work = [&] {
        if (ranks.rank() == one) throw Interrupted("stopped");
      };
      EXPECT_THROW(ranks.together(work), Interrupted);
    }
    EXPECT_EQ(ranks.sum(1), 3);  // they are still in step
  });
}

TEST_F(SeveralRanks, LeaveTogether) {
  in_ranks(3, [](Ranks& ranks) {
    const TemporaryDirectory directory;
    const std::filesystem::path file = ranks.from_first((directory / "file").string());
    if (ranks.rank() == 2) {
      std::this_thread::sleep_for(200ms);
      std::ofstream{file} << "here";
    }
    ranks.leave();
    EXPECT_TRUE(std::filesystem::exists(file));
    ranks.sum(0);  // the directory is there until all have looked
  });
}

using NamedValues = std::vector<std::pair<std::string, std::string>>;

// Of several ranks each of which has its own values: what the one of them is told that is to blame.
void expect_refusal(Ranks& ranks, const std::vector<NamedValues>& values, int to_blame, const std::string& message) {
  const NamedValues& own = values[static_cast<std::size_t>(ranks.rank())];
  if (ranks.rank() != to_blame) {
    EXPECT_THROW(ranks.compare(own), Interrupted) << message;
    return;
  }
  EXPECT_EQ(user_error_of([&] { ranks.compare(own); }), message);
}

TEST_F(SeveralRanks, CompareNamesTheOneThatDiffers) {
  in_ranks(3, [](Ranks& ranks) {
    const NamedValues usual = {{"attend", "1"}, {"--width", "32"}}, wider = {{"attend", "1"}, {"--width", "64"}},
                      less = {{"attend", "1"}}, more = {{"attend", "1"}, {"--width", "32"}, {"--seed", "3"}};
    ranks.compare(usual);
    expect_refusal(ranks, {usual, wider, usual}, 1, "--width is 64, but on rank 0 32");
    expect_refusal(ranks, {usual, usual, wider}, 2, "--width is 64, but on rank 0 32");
    expect_refusal(ranks, {usual, wider, less}, 1, "--width is 64, but on rank 0 32");
    expect_refusal(ranks, {usual, usual, less}, 2, "--width is not given, but on rank 0 32");
    expect_refusal(ranks, {usual, more, usual}, 1, "--seed is 3, but on rank 0 not given");
    ranks.compare(usual);
  });
}

TEST_F(SeveralRanks, RefuseToShareAGpu) {
  in_ranks(3, [](Ranks& ranks) {
    ranks.refuse_shared_gpu("cpu");
    ranks.refuse_shared_gpu("cuda:" + std::to_string(ranks.rank()));
    setenv("CUDA_VISIBLE_DEVICES", std::to_string(ranks.rank()).c_str(), /*replace=*/1);
    ranks.refuse_shared_gpu("cuda:0");
    unsetenv("CUDA_VISIBLE_DEVICES");
    const std::string device = ranks.rank() == 1 ? "cuda:1" : "cuda:0";
    if (ranks.rank() != 2) {
      EXPECT_THROW(ranks.refuse_shared_gpu(device), Interrupted);
      return;
    }
    const std::string error = error_and_remedy_of([&] { ranks.refuse_shared_gpu(device); });
    EXPECT_TRUE(error.starts_with("ranks 0 and 2 would both use cuda:0 of " + host_name() + " | ")) << error;
    EXPECT_NE(error.find("LOCAL_RANK"), std::string::npos) << error;
  });
}

// What this rank says when it finds in a sum that another is lost.
std::string said_at_loss(Ranks& ranks) {
  testing::internal::CaptureStderr();
  EXPECT_THROW(ranks.sum(0), Interrupted);
  EXPECT_THROW(ranks.sum(0), Interrupted);  // said once
  return testing::internal::GetCapturedStderr();
}

constexpr const char* kLastWords = "\n  this rank ends, too; --resume auto resumes from the last checkpoint\n";

TEST_F(SeveralRanks, NoticeOneThatHasEnded) {
  in_ranks(3, [](Ranks& ranks) {
    ranks.sum(0);
    if (ranks.rank() == 1) _exit(0);
    const auto start = std::chrono::steady_clock::now();
    const std::string said = said_at_loss(ranks);
    EXPECT_LT(std::chrono::steady_clock::now() - start, 15s);
    EXPECT_NE(said.find("another rank has ended, or the connection to it broke: "), std::string::npos) << said;
    EXPECT_TRUE(said.ends_with(kLastWords)) << said;
  });
}

TEST_F(SeveralRanks, NoticeOneThatIsStopped) {
  in_ranks(2, [](Ranks& ranks) {
    const std::string process = ranks.gather(std::to_string(getpid()))[1];
    if (!ranks.first()) {
      raise(SIGSTOP);
      return;
    }
    const auto start = std::chrono::steady_clock::now();
    const std::string said = said_at_loss(ranks);
    EXPECT_LT(std::chrono::steady_clock::now() - start, 60s);
    EXPECT_NE(said.find("error: rank 1 (" + host_name() + ", process " + process + ", "), std::string::npos) << said;
    EXPECT_TRUE(said.ends_with(kLastWords)) << said;
    kill(std::stoi(process), SIGCONT);
  });
}

// The training loop in several processes, and one that is told to stop.

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
