// Tests of several processes that train together. Each process is this program, started with a filter for the test that
// needs it: threads that LibTorch started in earlier tests would not survive a fork.
#pragma once

#include <ATen/Parallel.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "tests/support/temporary.hpp"
#include "train/distributed/ranks.hpp"

namespace attend {

class SeveralRanks : public testing::Test {
 protected:
  void SetUp() override {
    try {
      check_backend(CommunicationBackend::gloo, /*on_cpu=*/true);
    } catch (const UserError& error) {
      GTEST_SKIP() << error.what();
    }
  }

  // Runs `body` in `size` processes, once they are connected; passes if it does in all of them. A size of 1 isolates
  // tests with lasting effects, such as a signal.
  static void in_ranks(int size, const std::function<void(Ranks&)>& body) {
    if (std::getenv("WORLD_SIZE") != nullptr) {
      alarm(kMostSeconds);
      at::set_num_threads(1);
      Ranks ranks(Launch::from_environment(), CommunicationBackend::gloo);
      return body(ranks);
    }
    const TemporaryDirectory outputs;
    const std::string port = std::to_string(free_port());
    std::vector<pid_t> processes;
    for (int rank = 0; rank < size; ++rank) processes.push_back(start(rank, size, port, output(outputs, rank)));
    for (int rank = 0; rank < size; ++rank) {
      int status = -1;
      waitpid(processes[static_cast<std::size_t>(rank)], &status, 0);
      const std::string said = read_file(output(outputs, rank));
      EXPECT_TRUE(status == 0 && said.find("[ RUN ") != std::string::npos)
          << "rank " << rank << " of " << size << " ended with " << status << ":\n"
          << said;
    }
  }

 private:
  static constexpr unsigned kMostSeconds = 120;  // after which a process is stuck

  static std::string output(const TemporaryDirectory& directory, int rank) {
    return directory / ("rank-" + std::to_string(rank));
  }

  static std::uint16_t free_port() {
    const int any = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(any, generic, size), 0) << std::strerror(errno);
    EXPECT_EQ(getsockname(any, generic, &size), 0);
    close(any);
    return ntohs(address.sin_port);
  }

  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
  }

  static pid_t start(int rank, int size, const std::string& port, const std::string& output) {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    std::vector<std::string> words = {"/proc/self/exe",
                                      std::string("--gtest_filter=") + test.test_suite_name() + "." + test.name()};
    std::vector<std::string> variables = {"RANK=" + std::to_string(rank),
                                          "WORLD_SIZE=" + std::to_string(size),
                                          "LOCAL_RANK=" + std::to_string(rank),
                                          "LOCAL_WORLD_SIZE=" + std::to_string(size),
                                          "MASTER_ADDR=127.0.0.1",
                                          "MASTER_PORT=" + port,
                                          "RES_OPTIONS=timeout:1 attempts:1"};  // c10d looks up the names of addresses
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const bool of_shards = std::string_view(*variable).starts_with("GTEST_");  // a shard may lack this test
      if (!of_shards) variables.emplace_back(*variable);
    }
    std::vector<char*> arguments = pointers(words), environment = pointers(variables);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    pid_t process = -1;
    EXPECT_EQ(posix_spawn(&process, arguments[0], &actions, nullptr, arguments.data(), environment.data()), 0);
    posix_spawn_file_actions_destroy(&actions);
    return process;
  }
};

}  // namespace attend
