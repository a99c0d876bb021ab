// Corpora on disk and the batches made of them.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/mount.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/random.hpp"
#include "data/batch/batch_stream.hpp"
#include "data/corpus/batch_order.hpp"
#include "data/corpus/parallel_corpus.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

// The cache of encoded text: right, found again, and never used when it is not what it should be.

namespace fs = std::filesystem;

class EncodedCorpusTest : public TestWithFiles {
 protected:
  EncodedCorpus open(const CorpusConfig& config = {}) { return EncodedCorpus::open(source_, config, cache_); }

  fs::path cache_file(const std::string& extension) {
    for (const auto& entry : fs::directory_iterator(cache_)) {
      if (entry.path().extension() == extension) return entry.path();
    }
    return {};
  }

  fs::path cache_ = directory_.path() / "deep" / "cache";
  std::string src_ = write("src", "a b c\n\nc c c c c c c\nb\xFF\na a\r\nb\n");
  std::string tgt_ = write("tgt",
                           "c b a\nx\nc\nb\na\xE2\x80\xA8"
                           "b\nc a");
  Tokenizer tokenizer_ = train_tokenizer({write("text", "a b c\nb a c\nc c a b\n")}, {.type = TokenizerType::word});
  CorpusSource source_{src_, tgt_, tokenizer_, tokenizer_};
};

TEST_F(EncodedCorpusTest, HoldsTheEncodedPairs) {
  const EncodedCorpus corpus = open({.max_length = 6});
  EXPECT_FALSE(corpus.from_cache());
  ASSERT_EQ(corpus.size(), 3);
  const std::vector<std::pair<std::string, std::string>> pairs = {{"a b c", "c b a"}, {"a a", "a b"}, {"b", "c a"}};
  const std::vector<std::uint64_t> lines = {1, 5, 6};
  for (std::int64_t i = 0; i < corpus.size(); ++i) {
    const PairIds pair = corpus.pair(i);
    EXPECT_EQ(tokenizer_.decode(pair.src), pairs[i].first);
    EXPECT_EQ(tokenizer_.decode(pair.tgt), pairs[i].second);
    EXPECT_EQ(corpus.length(i).src, pair.src.size());
    EXPECT_EQ(corpus.length(i).tgt, pair.tgt.size());
    EXPECT_EQ(corpus.line(i), lines[i]);
  }
  EXPECT_EQ(corpus.num_tgt_tokens(), 7u);
  EXPECT_EQ(corpus.counts().report(), "3 pairs, 3 skipped: 1 empty, 1 too long, 1 with invalid UTF-8");
}

TEST_F(EncodedCorpusTest, IsFoundAgain) {
  const std::string hash = open().content_hash();
  const EncodedCorpus again = open();
  EXPECT_TRUE(again.from_cache());
  EXPECT_EQ(again.content_hash(), hash);
  EXPECT_EQ(again.counts().report(), "4 pairs, 2 skipped: 1 empty, 1 with invalid UTF-8");
}

TEST_F(EncodedCorpusTest, IsMadeAnewForAnythingThatChanged) {
  const std::string hash = open().content_hash();
  EXPECT_FALSE(open({.max_length = 5}).from_cache());
  EXPECT_EQ(open().content_hash(), hash);

  CorpusSource other = source_;
  other.tgt_tokenizer = train_tokenizer({src_}, {.type = TokenizerType::character});
  EXPECT_FALSE(EncodedCorpus::open(other, {}, cache_).from_cache());
  other.tgt_tokenizer = tokenizer_.reversed();
  EXPECT_FALSE(EncodedCorpus::open(other, {}, cache_).from_cache());

  const auto time = fs::last_write_time(src_);
  write("src", "b b c\n\nc c c c c c c\nb\xFF\na a\r\nb\n");  // one letter, of the same size and age
  fs::last_write_time(src_, time);
  const EncodedCorpus changed = open();
  EXPECT_FALSE(changed.from_cache());
  EXPECT_NE(changed.content_hash(), hash);
}

TEST_F(EncodedCorpusTest, KnowsItsTextByContentNotByName) {
  open();
  source_.src_file = write("elsewhere", read_file(src_));
  EXPECT_TRUE(open().from_cache());
}

TEST_F(EncodedCorpusTest, IgnoresADamagedCache) {
  open();
  for (const char* extension : {".index", ".ids"}) {
    const std::string good = read_file(cache_file(extension));
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, good.size() / 2, good.size() - 1}) {
      write_file_atomic(cache_file(extension), good.substr(0, size));
      EXPECT_FALSE(open().from_cache()) << extension << " cut to " << size;
    }
    write_file_atomic(cache_file(extension), good + "x");
    EXPECT_FALSE(open().from_cache()) << extension << " with a byte more";
  }
  for (const char* extension : {".index", ".ids"}) {
    const std::string good = read_file(cache_file(extension));
    for (std::size_t at = 0; at < good.size(); ++at) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 1);  // an id stays below the size of the vocabulary
      write_file_atomic(cache_file(extension), bad);
      EXPECT_FALSE(open().from_cache()) << extension << ", byte " << at;
    }
  }
  fs::remove(cache_file(".ids"));
  EXPECT_FALSE(open().from_cache());
  EXPECT_TRUE(open().from_cache());
}

TEST_F(EncodedCorpusTest, NamesIdsThatAreNone) {
  const EncodedCorpus corpus = open();
  std::fstream(cache_file(".ids"), std::ios::binary | std::ios::in | std::ios::out).seekp(1).put('\x7F');  // in place
  EXPECT_THROW(corpus.pair(0), UserError);
}

TEST_F(EncodedCorpusTest, DoesWithoutACache) {
  cache_ = write("file", "not a directory") + "/cache";
  const EncodedCorpus corpus = open();
  EXPECT_EQ(corpus.size(), 4);
  EXPECT_EQ(tokenizer_.decode(corpus.pair(3).src), "b");
}

TEST_F(EncodedCorpusTest, DoesWithoutACacheThatIsFull) {
  fs::create_directories(cache_);
  if (mount("none", cache_.c_str(), "tmpfs", 0, "size=4k") != 0) GTEST_SKIP() << "may not mount";
  std::string text;
  for (int i = 0; i < 4000; ++i) text += "a b c\n";
  source_.src_file = source_.tgt_file = write("long", text);
  const EncodedCorpus corpus = open();
  EXPECT_EQ(corpus.size(), 4000);
  EXPECT_FALSE(corpus.from_cache());
  EXPECT_TRUE(fs::is_empty(cache_));
  EXPECT_EQ(umount(cache_.c_str()), 0);
}

TEST_F(EncodedCorpusTest, RefusesWhatCannotBeLearntFrom) {
  source_.tgt_file = write("short", "a\nb\n");
  EXPECT_EQ(user_error_of([&] { open(); }), source_.tgt_file + ": 2 lines, but " + src_ + " has 6");
  source_.src_file = source_.tgt_file = write("blank", "\n \n\n");
  EXPECT_THROW(open(), UserError);
  // Nothing half-made is left behind.
  EXPECT_TRUE(fs::is_empty(cache_));
}

// Properties of the order of batches, over random lengths.

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

// The shards of a stream of batches are that stream, dealt out.

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
