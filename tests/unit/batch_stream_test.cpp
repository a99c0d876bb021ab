// Batches hold the right ids, and the stream goes on from any position as if it had never stopped.
#include "data/batch/batch_stream.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "data/batch/sources.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

std::vector<std::int64_t> values(const torch::Tensor& tensor) {
  return {tensor.data_ptr<std::int64_t>(), tensor.data_ptr<std::int64_t>() + tensor.numel()};
}

class BatchStreamTest : public TestWithFiles {
 protected:
  // Line n is n mod 9 + 1 words on one side and n mod 7 + 1 on the other.
  static std::string lines(int period, const std::string& word) {
    std::string text;
    for (int n = 0; n < 200; ++n) {
      for (int k = 0; k <= n % period; ++k) text += word + " ";
      text += "\n";
    }
    return text;
  }

  Tokenizer tokenizer_ = train_tokenizer({write("text", "a b c\n")}, {.type = TokenizerType::word});
  EncodedCorpus corpus_ = EncodedCorpus::open(
      {write("src", lines(9, "a")), write("tgt", lines(7, "b")), tokenizer_, tokenizer_}, {}, directory_ / "cache");
  BatchOrder order_{corpus_, {.max_tokens = 50}, 3};
  BatchIds ids_{.src_eos = 3, .tgt_bos = 2, .tgt_eos = 3};

  BatchStream<Batch> stream_from(DataPosition start) const {
    return BatchStream<Batch>(ParallelBatches(corpus_, order_, ids_), start);
  }
};

TEST_F(BatchStreamTest, MakesRaggedBatches) {
  const std::int64_t a = tokenizer_.id_of("▁a");
  const std::int64_t b = tokenizer_.id_of("▁b");
  const std::vector<std::uint32_t> examples = {2, 0, 8};
  const Batch batch = make_batch(corpus_, examples, ids_);
  EXPECT_EQ(values(batch.src.ids_M), (std::vector<std::int64_t>{a, a, a, 3, a, 3, a, a, a, a, a, a, a, a, a, 3}));
  EXPECT_EQ(batch.src.layout.offsets, (std::vector<std::int64_t>{0, 4, 6, 16}));
  EXPECT_EQ(batch.src.layout.max_length, 10);
  EXPECT_EQ(values(batch.tgt.ids_M), (std::vector<std::int64_t>{2, b, b, b, 2, b, 2, b, b}));
  EXPECT_EQ(values(batch.labels_M), (std::vector<std::int64_t>{b, b, b, 3, b, 3, b, b, 3}));
  EXPECT_EQ(batch.tgt.layout.offsets, (std::vector<std::int64_t>{0, 4, 6, 9}));
  EXPECT_EQ(batch.tgt.layout.max_length, 4);
  EXPECT_EQ(batch.examples, (std::vector<std::int64_t>{2, 0, 8}));
}

TEST_F(BatchStreamTest, GoesOnFromAnyPosition) {
  std::vector<StreamedBatch<Batch>> stream;
  const std::int64_t size = order_.epoch(0).size();
  ASSERT_GT(size, 10);
  BatchStream<Batch> loader = stream_from({});
  for (std::int64_t n = 0; n < size + 5; ++n) stream.push_back(loader.next());
  EXPECT_EQ(stream[0].position, (DataPosition{0, 0}));
  EXPECT_EQ(stream[size - 1].after, (DataPosition{1, 0}));
  EXPECT_EQ(stream[size].position, (DataPosition{1, 0}));
  for (std::size_t start : {0u, 1u, 7u, static_cast<unsigned>(size - 1)}) {
    BatchStream<Batch> resumed = stream_from(stream[start].after);
    for (std::size_t n = start + 1; n < stream.size(); ++n) {
      const StreamedBatch<Batch> batch = resumed.next();
      EXPECT_EQ(batch.position, stream[n].position);
      EXPECT_EQ(batch.batch.examples, stream[n].batch.examples);
      EXPECT_EQ(values(batch.batch.labels_M), values(stream[n].batch.labels_M));
    }
  }
  EXPECT_EQ(stream_from({0, size}).next().position, (DataPosition{1, 0}));
}

TEST_F(BatchStreamTest, EndsWhereverItIs) {
  for (int round = 0; round < 20; ++round) {
    BatchStream<Batch> loader = stream_from({});
    for (int n = 0; n < round % 3; ++n) EXPECT_EQ(loader.next().position, (DataPosition{0, n}));
    if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// A source whose second batch cannot be made.
struct DamagedSource {
  static std::int64_t begin_epoch(std::int64_t /*epoch*/) { return 3; }
  static Batch batch(std::int64_t number) {
    if (number == 1) throw UserError("damaged");
    return {};
  }
};

TEST(BatchStream, HandsOverWhatWentWrong) {
  BatchStream<Batch> stream(DamagedSource(), {});
  EXPECT_EQ(stream.next().position, (DataPosition{0, 0}));
  EXPECT_THROW(stream.next(), UserError);
  EXPECT_THROW(stream.next(), UserError);
}

}  // namespace
}  // namespace attend
