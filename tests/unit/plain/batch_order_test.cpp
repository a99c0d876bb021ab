// Properties of the order of batches, over random lengths.
#include "data/corpus/batch_order.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "core/random.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

std::vector<PairLength> random_lengths(std::size_t count, std::uint16_t longest, std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<PairLength> lengths(count);
  for (auto& length : lengths) {
    length.src = static_cast<std::uint16_t>(1 + random.below(longest));
    length.tgt = static_cast<std::uint16_t>(1 + random.below(longest));
  }
  return lengths;
}

std::vector<std::vector<std::uint32_t>> batches_of(const BatchOrder& order, std::int64_t number) {
  const auto epoch = order.epoch(number);
  std::vector<std::vector<std::uint32_t>> batches;
  for (std::int64_t b = 0; b < epoch.size(); ++b) {
    const auto batch = epoch.batch(b);
    batches.emplace_back(batch.begin(), batch.end());
  }
  return batches;
}

RC_GTEST_PROP(BatchOrderProperty, EveryExampleOnceWithinTheBudget, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(0, 500);
  const auto longest = *rc::gen::inRange<std::uint16_t>(1, 70);
  const auto max_tokens = *rc::gen::inRange<std::int64_t>(longest + 1, 1000);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto number = *rc::gen::inRange<std::int64_t>(0, 5);
  const auto lengths = random_lengths(count, longest, seed);
  const BatchOrder order(lengths, {.max_tokens = max_tokens}, seed);
  const auto batches = batches_of(order, number);
  std::vector<int> seen(count);
  for (const auto& batch : batches) {
    RC_ASSERT(!batch.empty());
    std::int64_t most = 0;
    for (const auto example : batch) {
      ++seen.at(example);
      most = std::max<std::int64_t>({most, lengths[example].src + 1, lengths[example].tgt + 1});
    }
    RC_ASSERT(most * static_cast<std::int64_t>(batch.size()) <= max_tokens);
  }
  RC_ASSERT(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
  // The same (seed, epoch) gives the same order to whoever asks.
  RC_ASSERT(batches_of(BatchOrder(lengths, {.max_tokens = max_tokens}, seed), number) == batches);
}

TEST(BatchOrder, ChangesWithSeedAndEpoch) {
  const auto lengths = random_lengths(400, 30, 1);
  const BatchOrder order(lengths, {.max_tokens = 200}, 7);
  EXPECT_NE(batches_of(order, 0), batches_of(order, 1));
  EXPECT_NE(batches_of(order, 0), batches_of(BatchOrder(lengths, {.max_tokens = 200}, 8), 0));
  // Not only the order of the batches differs: who is with whom does, too.
  auto first = batches_of(order, 0);
  auto second = batches_of(order, 1);
  for (auto* batches : {&first, &second}) {
    for (auto& batch : *batches) std::sort(batch.begin(), batch.end());
    std::sort(batches->begin(), batches->end());
  }
  std::vector<std::vector<std::uint32_t>> both;
  std::set_intersection(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(both));
  EXPECT_LT(both.size(), first.size() / 4);
}

// Lengths of real text: the target about as long as the source. Little of a batch is then padding on either side.
TEST(BatchOrder, GroupsByLength) {
  RandomStream random(3);
  std::vector<PairLength> lengths(30'000);
  for (auto& length : lengths) {
    length.src = static_cast<std::uint16_t>(6 + random.below(10) + random.below(12));
    length.tgt = static_cast<std::uint16_t>(length.src * (0.8 + 0.4 * random.uniform()));
  }
  const BatchOrder order(lengths, {.max_tokens = 4096}, 1);
  std::int64_t src = 0;
  std::int64_t tgt = 0;
  std::int64_t padded_src = 0;
  std::int64_t padded_tgt = 0;
  for (const auto& batch : batches_of(order, 0)) {
    std::int64_t longest_src = 0;
    std::int64_t longest_tgt = 0;
    for (const auto example : batch) {
      src += lengths[example].src;
      tgt += lengths[example].tgt;
      longest_src = std::max<std::int64_t>(longest_src, lengths[example].src);
      longest_tgt = std::max<std::int64_t>(longest_tgt, lengths[example].tgt);
    }
    padded_src += longest_src * static_cast<std::int64_t>(batch.size());
    padded_tgt += longest_tgt * static_cast<std::int64_t>(batch.size());
  }
  EXPECT_GT(static_cast<double>(src) / static_cast<double>(padded_src), 0.85);
  EXPECT_GT(static_cast<double>(tgt) / static_cast<double>(padded_tgt), 0.85);
}

TEST(BatchOrder, NamesTheLargestBatch) {
  const std::vector<PairLength> lengths = random_lengths(300, 40, 5);
  const BatchOrder order(lengths, {.max_tokens = 333}, 5);
  const auto epoch = order.epoch(0);
  const auto padded_tokens = [&](std::int64_t b) {
    std::int64_t longest = 0;
    for (const auto example : epoch.batch(b)) {
      longest = std::max<std::int64_t>({longest, lengths[example].src + 1, lengths[example].tgt + 1});
    }
    return longest * std::ssize(epoch.batch(b));
  };
  const std::int64_t most = padded_tokens(order.largest(epoch));
  for (std::int64_t b = 0; b < epoch.size(); ++b) EXPECT_LE(padded_tokens(b), most);
}

TEST(BatchOrder, RefusesASentenceBeyondTheBudget) {
  EXPECT_EQ(error_and_remedy_of([] {
              BatchOrder({{3, 3}, {4, 20}}, {.max_tokens = 20}, 1);
            }),
            "example 1 has 21 tokens, more than a whole batch (--max-tokens 20) | raise --max-tokens to 21 or lower "
            "--max-length");
  BatchOrder({{3, 3}, {4, 20}}, {.max_tokens = 21}, 1);
}

}  // namespace
}  // namespace attend
