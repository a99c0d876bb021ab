// What processes that train together tell each other, and what they learn when one of them is lost.
#include "train/distributed/ranks.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "core/process.hpp"
#include "tests/support/several_ranks.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

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

}  // namespace
}  // namespace attend
