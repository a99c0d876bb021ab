// What a language model is trained on: one stream of documents in, segments and the next token of each out.
#include "data/batch/sources.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "data/batch/batch_stream.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

using Ids = std::vector<std::int64_t>;

Ids ids_of(const torch::Tensor& tensor) {
  return {tensor.data_ptr<std::int64_t>(), tensor.data_ptr<std::int64_t>() + tensor.numel()};
}

// Twenty documents of d mod 3 + 1 lines with d mod 5 + 3 words each; no word occurs twice.
class CausalDataTest : public TestWithFiles {
 protected:
  CausalDataTest() {
    for (std::size_t d = 0; d < documents_.size(); ++d) {
      stream_.push_back(end_);
      for (const std::vector<std::string>& line : documents_[d]) {
        for (const std::string& word : line) stream_.push_back(tokenizer_.id_of("▁" + word));
      }
    }
    EXPECT_EQ(std::ranges::count(stream_, tokenizer_.special().unk), 0);
  }

  using Document = std::vector<std::vector<std::string>>;

  static std::vector<Document> make_documents() {
    std::vector<Document> documents(20);
    int number = 0;
    for (std::size_t d = 0; d < documents.size(); ++d) {
      documents[d].resize(d % 3 + 1);
      for (auto& line : documents[d]) {
        while (line.size() < d % 5 + 3) line.push_back("w" + std::to_string(number++));
      }
    }
    return documents;
  }
  std::string write_documents(const std::string& name) {
    std::string text;
    for (const Document& document : documents_) {
      for (const auto& line : document) {
        for (const std::string& word : line) text += word + " ";
        text += "\n";
      }
      text += "\n";
    }
    return write(name, text);
  }

  CausalData make(const CausalDataConfig& config) const { return {corpus_, static_cast<std::int32_t>(end_), config}; }
  // What was said of data that cannot be made.
  std::string refusal(const CausalDataConfig& config) const {
    return error_and_remedy_of([&] { make(config); });
  }
  // The next token is right for each: within a document the next one, then the end, then the first word of a document.
  void expect_successors(const LanguageBatch& batch) const {
    const Ids tokens = ids_of(batch.tokens.ids_M), labels = ids_of(batch.labels_M);
    ASSERT_EQ(tokens.size(), labels.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i] == end_) {
        const auto label = std::ranges::find(stream_, labels[i]);
        ASSERT_NE(label, stream_.end());
        EXPECT_EQ(*(label - 1), end_);
      } else {
        const auto next = std::ranges::find(stream_, tokens[i]) + 1;
        EXPECT_EQ(labels[i], next == stream_.end() ? end_ : *next);
      }
    }
  }

  std::vector<Document> documents_ = make_documents();
  Tokenizer tokenizer_ = train_tokenizer({write_documents("train")}, {.type = TokenizerType::word});
  DocumentCorpus corpus_ = DocumentCorpus::open({write_documents("text")}, tokenizer_, directory_ / "cache");
  std::int64_t end_ = tokenizer_.special().eos;
  Ids stream_;  // of the documents in their own order
};

TEST_F(CausalDataTest, WithoutASeedIsTheTextFromItsBeginningToItsEnd) {
  const CausalData data = make({.length = 16, .max_tokens = 50});  // batches of three
  const auto size = std::ssize(stream_);
  ASSERT_NE(size % 16, 0) << "the last segment is shorter";
  EXPECT_EQ(data.num_batches(), ((size + 15) / 16 + 2) / 3);
  Ids tokens, labels, lines;
  for (std::int64_t b = 0; b < data.num_batches(); ++b) {
    const LanguageBatch batch = data.batch(b);
    EXPECT_TRUE(batch.begins);
    EXPECT_EQ(batch.lane, 0);
    for (const std::int64_t id : ids_of(batch.tokens.ids_M)) tokens.push_back(id);
    for (const std::int64_t id : ids_of(batch.labels_M)) labels.push_back(id);
    lines.insert(lines.end(), batch.lines.begin(), batch.lines.end());
    const Layout& layout = batch.tokens.layout;
    EXPECT_EQ(layout.size(), std::ssize(batch.lines));
    for (std::int64_t s = 0; s < layout.size(); ++s) {
      const bool last = b + 1 == data.num_batches() && s + 1 == layout.size();
      EXPECT_EQ(layout.length(s), last ? size % 16 : 16);
    }
  }
  EXPECT_EQ(tokens, stream_);
  Ids next(stream_.begin() + 1, stream_.end());
  next.push_back(end_);
  EXPECT_EQ(labels, next);
  EXPECT_EQ(lines.front(), 1);
  // The first document is a line of three words and the second one two of four: places 0, 1 … 3, 4, 5 … 8, 9 … 12; the
  // third has lines of five words at 14 … 18, and so the second segment begins within its first, the sixth of the file.
  EXPECT_EQ(lines[1], 6);
}

TEST_F(CausalDataTest, IndependentSegmentsAreShuffledAnewInEveryEpoch) {
  CausalData data = make({.length = 8, .max_tokens = 32, .seed = 3});
  std::set<Ids> orders;
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    EXPECT_EQ(data.begin_epoch(epoch), ((std::ssize(stream_) + 7) / 8 + 3) / 4);
    Ids tokens;
    for (std::int64_t b = 0; b < data.num_batches(); ++b) {
      const LanguageBatch batch = data.batch(b);
      expect_successors(batch);
      for (const std::int64_t id : ids_of(batch.tokens.ids_M)) tokens.push_back(id);
    }
    orders.insert(tokens);
    Ids all = stream_;
    std::ranges::sort(all);
    std::ranges::sort(tokens);
    EXPECT_EQ(tokens, all) << "every token is read once";
  }
  EXPECT_EQ(orders.size(), 3U);
}

// Two lanes of three rows: each reads a sixth of the stream, and a batch goes on where the last one of its lane ended.
TEST_F(CausalDataTest, SegmentsOfALaneGoOn) {
  constexpr std::int64_t kLength = 8, kRows = 3, kLanes = 2;
  const CausalDataConfig config{.length = kLength, .max_tokens = kLength * kRows + 1, .lanes = kLanes};
  const CausalData data = make(config);
  const std::int64_t segments = std::ssize(stream_) / (kLength * kRows * kLanes);
  ASSERT_GE(segments, 3);
  ASSERT_EQ(data.num_batches(), segments * kLanes);
  std::vector<Ids> shares(kRows * kLanes);
  for (std::int64_t b = 0; b < data.num_batches(); ++b) {
    const LanguageBatch batch = data.batch(b);
    EXPECT_EQ(batch.lane, b % kLanes);
    EXPECT_EQ(batch.begins, b < kLanes);
    ASSERT_EQ(batch.tokens.layout.size(), kRows);
    EXPECT_EQ(batch.tokens.layout.num_tokens(), kRows * kLength);
    expect_successors(batch);
    const Ids tokens = ids_of(batch.tokens.ids_M);
    for (std::int64_t row = 0; row < kRows; ++row) {
      Ids& share = shares[batch.lane * kRows + row];
      share.insert(share.end(), tokens.begin() + row * kLength, tokens.begin() + (row + 1) * kLength);
    }
  }
  Ids read;
  for (const Ids& share : shares) read.insert(read.end(), share.begin(), share.end());
  EXPECT_EQ(read, Ids(stream_.begin(), stream_.begin() + std::ssize(read)));
  EXPECT_LT(std::ssize(stream_) - std::ssize(read), kLength * kRows * kLanes);
}

TEST_F(CausalDataTest, ShuffledDocumentsStayWholeInALane) {
  CausalData data = make({.length = 8, .max_tokens = 16, .lanes = 2, .seed = 5});
  std::set<Ids> orders;
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    data.begin_epoch(epoch);
    std::vector<std::int64_t> next(4, -1);  // the label that the last segment of each row ended with
    for (std::int64_t b = 0; b < data.num_batches(); ++b) {
      const LanguageBatch batch = data.batch(b);
      expect_successors(batch);
      const Ids tokens = ids_of(batch.tokens.ids_M), labels = ids_of(batch.labels_M);
      if (b == 0) orders.insert(tokens);
      for (std::int64_t row = 0; row < 2; ++row) {
        std::int64_t& expected = next[batch.lane * 2 + row];
        EXPECT_EQ(batch.begins, expected < 0);
        if (expected >= 0) {
          EXPECT_EQ(tokens[row * 8], expected);
        }
        expected = labels[row * 8 + 7];
      }
    }
  }
  EXPECT_EQ(orders.size(), 3U);
}

// With 4 segments in a batch, 3/8 of them are 2, 1, 2, 1 …
TEST_F(CausalDataTest, OfAHybridIsMaskedInTheShareThatIsNotCausal) {
  const MaskVocabulary vocabulary(tokenizer_);
  const CausalDataConfig causal{.length = 8, .max_tokens = 32, .seed = 3};
  CausalDataConfig config = causal;
  config.hybrid =
      HybridConfig{.causal_share = 0.375, .masking = {.masked = 1, .replaced = 0}, .vocabulary = vocabulary};
  CausalData data = make(config), again = make(config), alone = make(causal);
  Ids masked_places;
  for (std::int64_t b = 0; b < data.num_batches(); ++b) {
    const LanguageBatch batch = data.batch(b), whole = alone.batch(b);
    if (whole.tokens.layout.num_tokens() < 32) continue;  // the last batch, and that with the end of the stream
    expect_successors(batch);
    const std::int64_t count = batch.tokens.layout.size();
    EXPECT_EQ(count, b % 2 == 0 ? 2 : 1);
    EXPECT_EQ(batch.lines, whole.lines);
    EXPECT_TRUE(at::equal(batch.tokens.ids_M, whole.tokens.ids_M.narrow(0, 0, 8 * count)));
    // The others are [CLS], six tokens of the segment and [SEP], once the masked tokens are put back.
    const PretrainingBatch& masked = batch.masked;
    Ids ids = ids_of(masked.input.tokens.ids_M);
    EXPECT_EQ(std::ranges::count(ids, vocabulary.mask), std::ssize(masked.masked));
    ASSERT_EQ(masked.labels_K.size(0), std::ssize(masked.masked));
    for (std::size_t k = 0; k < masked.masked.size(); ++k) ids[masked.masked[k]] = ids_of(masked.labels_K)[k];
    Ids expected, read = ids_of(whole.tokens.ids_M);
    std::ranges::replace(read, end_, std::int64_t{vocabulary.sep});
    for (std::int64_t row = count; row < 4; ++row) {
      expected.push_back(vocabulary.cls);
      expected.insert(expected.end(), read.begin() + 8 * row, read.begin() + 8 * row + 6);
      expected.push_back(vocabulary.sep);
    }
    EXPECT_EQ(ids, expected);
    EXPECT_TRUE(at::equal(again.batch(b).masked.input.tokens.ids_M, masked.input.tokens.ids_M));
    for (const std::int64_t row : masked.masked) masked_places.push_back(row % 8);
  }
  EXPECT_GT(std::set<std::int64_t>(masked_places.begin(), masked_places.end()).size(), 3U) << "of six";
  again.begin_epoch(1);
  again.begin_epoch(0);
  EXPECT_EQ(again.batch(1).masked.masked, data.batch(1).masked.masked);
}

TEST_F(CausalDataTest, IsAFunctionOfSeedEpochAndNumber) {
  for (const std::int64_t lanes : {0, 1, 2}) {
    const CausalDataConfig config{.length = 8, .max_tokens = 32, .lanes = lanes, .seed = 7};
    std::vector<StreamedBatch<LanguageBatch>> read;
    BatchStream<LanguageBatch> stream(make(config), {});
    for (std::int64_t n = 0; n < 2 * make(config).num_batches() + 1; ++n) read.push_back(stream.next());
    EXPECT_EQ(read.back().position.epoch, 2);
    for (const auto& [batch, position, after] : read) {
      CausalData fresh = make(config);
      fresh.begin_epoch(position.epoch);
      const LanguageBatch again = fresh.batch(position.batch);
      EXPECT_EQ(ids_of(again.tokens.ids_M), ids_of(batch.tokens.ids_M));
      EXPECT_EQ(ids_of(again.labels_M), ids_of(batch.labels_M));
      EXPECT_EQ(again.lines, batch.lines);
    }
    CausalDataConfig other = config;
    other.seed = 8;
    EXPECT_NE(ids_of(make(other).batch(0).tokens.ids_M), ids_of(make(config).batch(0).tokens.ids_M));
  }
}

TEST_F(CausalDataTest, WhatDoesNotFitIsRefused) {
  EXPECT_NE(refusal({.length = 64, .max_tokens = 63}).find("--max-tokens 63 is too small for a segment of --length 64"),
            std::string::npos);
  const std::int64_t size = std::ssize(stream_);
  const std::int64_t rows = size / 16;
  EXPECT_EQ(refusal({.length = 16, .max_tokens = rows * 16, .lanes = 1}), "");
  const std::string of_one = refusal({.length = 16, .max_tokens = (rows + 1) * 16, .lanes = 1});
  EXPECT_NE(of_one.find(std::to_string(size) + " tokens, too few for a batch of " + std::to_string(rows + 1) +
                        " segments of 16 | lower --max-tokens or --length"),
            std::string::npos)
      << of_one;
  const std::string of_two = refusal({.length = 16, .max_tokens = rows * 16, .lanes = 2});
  EXPECT_NE(of_two.find("--accumulate 2 times | lower --max-tokens, --accumulate or --length"), std::string::npos)
      << of_two;
  // Independent segments may be fewer than fit into a batch.
  EXPECT_EQ(make({.length = 16, .max_tokens = 1 << 20}).num_batches(), 1);
}

}  // namespace
}  // namespace attend
