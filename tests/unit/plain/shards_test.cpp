// The shards of a stream of batches are that stream, dealt out.
#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "data/batch/batch_stream.hpp"

namespace attend {
namespace {

constexpr std::int64_t kEpochs[] = {5, 3, 7, 1, 1, 4, 2};  // batches of each, over and over

std::int64_t epoch_size(std::int64_t epoch) { return kEpochs[epoch % std::ssize(kEpochs)]; }

// Of batches that know which they are.
class NumberedBatches {
 public:
  std::int64_t begin_epoch(std::int64_t epoch) {
    epoch_ = epoch;
    return epoch_size(epoch);
  }
  DataPosition batch(std::int64_t number) const { return {epoch_, number}; }

 private:
  std::int64_t epoch_ = -1;
};

using NumberedStream = BatchStream<DataPosition>;

// Expects that `count` shards from `start` on give the batches from `start` on in order, and all the same `after`.
void expect_whole(std::int64_t count, DataPosition start, std::int64_t rounds,
                  std::vector<DataPosition>* afters = nullptr) {
  std::vector<std::unique_ptr<NumberedStream>> shards;
  for (std::int64_t index = 0; index < count; ++index) {
    shards.push_back(std::make_unique<NumberedStream>(NumberedBatches(), start, Shard{.index = index, .count = count}));
  }
  DataPosition expected = start.within(epoch_size(start.epoch));
  for (std::int64_t round = 0; round < rounds; ++round) {
    std::vector<DataPosition> after;
    for (const auto& shard : shards) {
      const StreamedBatch<DataPosition> next = shard->next();
      ASSERT_EQ(next.position, expected) << "round " << round << " of " << count;
      ASSERT_EQ(next.batch, expected);
      after.push_back(next.after);
      ++expected.batch;
      expected = expected.within(epoch_size(expected.epoch));
    }
    for (const DataPosition& position : after) ASSERT_EQ(position, expected);
    if (afters != nullptr) afters->push_back(expected);
  }
}

TEST(Shards, TogetherAreTheStream) {
  for (std::int64_t count = 1; count <= 3; ++count) {
    std::vector<DataPosition> afters;
    expect_whole(count, {}, 24, &afters);  // several epochs within a round, and rounds that end with an epoch
    for (const DataPosition& after : afters) {
      for (std::int64_t resumed = 1; resumed <= 3; ++resumed) expect_whole(resumed, after, 12);
    }
  }
}

TEST(Shards, BeginBehindTheEndOfAnEpoch) {
  for (std::int64_t count = 1; count <= 3; ++count) expect_whole(count, {0, kEpochs[0]}, 10);
  const StreamedBatch<DataPosition> first = NumberedStream(NumberedBatches(), {0, kEpochs[0]}, {}).next();
  EXPECT_EQ(first.position, (DataPosition{.epoch = 1, .batch = 0}));
}

// A phase is kept, and its epochs count from 0.
TEST(Shards, StayInTheirPhase) {
  NumberedStream second(NumberedBatches(), {.epoch = 0, .batch = 3, .phase = 2}, {.index = 1, .count = 2});
  EXPECT_EQ(second.next().position, (DataPosition{.epoch = 0, .batch = 4, .phase = 2}));
  const StreamedBatch<DataPosition> next = second.next();
  EXPECT_EQ(next.position, (DataPosition{.epoch = 1, .batch = 1, .phase = 2}));
  EXPECT_EQ(next.after, (DataPosition{.epoch = 1, .batch = 2, .phase = 2}));
}

}  // namespace
}  // namespace attend
