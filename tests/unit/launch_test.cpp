// How a process learns which of several it is, and what it takes of the machine then.
#include "train/distributed/launch.hpp"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/process.hpp"
#include "tests/support/user_error.hpp"
#include "train/memory_limit.hpp"
#include "train/run_directory.hpp"

namespace attend {
namespace {

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

}  // namespace
}  // namespace attend
