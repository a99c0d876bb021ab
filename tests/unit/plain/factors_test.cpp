// Labels of source words: read beside a text, as ids beside its pieces, kept with tokenizers and in the cache.
#include "data/text/parallel.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/files.hpp"
#include "data/corpus/parallel_corpus.hpp"
#include "data/tokenizer/tokenizer_pair.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

using Ids = std::vector<std::int32_t>;

class FactorsTest : public TestWithFiles {
 protected:
  template <class Work>
  static void expect_refused(const Work& work, const std::vector<std::string>& parts) {
    const std::string error = user_error_of(work);
    for (const std::string& part : parts) EXPECT_NE(error.find(part), std::string::npos) << error;
  }
};

TEST_F(FactorsTest, LabelsFollowTheirLine) {
  FactorReader reader({write("tags", "DET \t NOUN\n\nVERB\n"), write("case", "a b\n\nc")});
  const std::string line = "the  dog" + reader.next("the  dog");
  EXPECT_EQ(text_of_line(line), "the  dog");
  using Labels = std::vector<std::vector<std::string_view>>;
  EXPECT_EQ(labels_of_line(line), (Labels{{"DET", "NOUN"}, {"a", "b"}}));
  EXPECT_EQ(labels_of_line(" " + reader.next(" ")), (Labels{{}, {}}));
  EXPECT_EQ(labels_of_line("ran" + reader.next("ran")), (Labels{{"VERB"}, {"c"}}));
  reader.finish();
  EXPECT_EQ(FactorReader().next("the dog"), "");
  EXPECT_TRUE(labels_of_line("the dog").empty());
}

TEST_F(FactorsTest, WrongNumbersAreRefusedByFileAndLine) {
  const std::string tags = write("tags", "A B\nA\n");
  FactorReader reader({tags});
  reader.next("a b");
  expect_refused([&] { reader.next("a b"); }, {tags + ":2", "1 label,", "2 words"});
  FactorReader few({tags});
  few.next("a b");
  few.next("a");
  expect_refused([&] { few.next("a"); }, {tags, "2 lines"});
  FactorReader many({tags});
  many.next("a b");
  expect_refused([&] { many.finish(); }, {tags + ":2", "only 1 line"});
  expect_refused([] { FactorReader({"-"}); }, {"standard input"});
  expect_refused([&] { FactorReader({tags + "none"}); }, {tags + "none"});
}

TEST_F(FactorsTest, DamageIsLoggedByFile) {
  const std::string clean = write("clean", "A B\n"), damaged = write("damaged", "A B\xFF\n");
  FactorReader reader({clean, damaged});
  reader.next("a b");
  testing::internal::CaptureStderr();
  reader.finish();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find(damaged), std::string::npos) << said;
  EXPECT_NE(said.find("1 with invalid UTF-8"), std::string::npos) << said;
  EXPECT_EQ(said.find(clean), std::string::npos) << said;
}

TEST_F(FactorsTest, APieceHasTheLabelsOfItsWord) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "unbelievably long words are split\na b c\n";
  const std::string file = write("text", text);
  // By frequency, then by bytes: N 2, A 3, V 4.
  const SourceFactors factors =
      SourceFactors::from_files({write("tags", "V N A N\nN A V\n"), write("case", "low low up\n")});
  EXPECT_EQ(factors.count(), 2);
  EXPECT_EQ(factors.sizes(), (std::vector<std::int64_t>{5, 4}));
  const std::string line =
      "  unbelievably long  words \x1e"
      "V N X\x1e"
      "up low low";
  for (const TokenizerConfig& config :
       {TokenizerConfig{.type = TokenizerType::character}, TokenizerConfig{.type = TokenizerType::bpe, .size = 34}}) {
    const Tokenizer tokenizer = train_tokenizer({file}, config);
    const SourcePieces pieces = encode_source(tokenizer, factors, line);
    EXPECT_EQ(pieces.ids, tokenizer.encode("  unbelievably long  words "));
    ASSERT_GT(pieces.ids.size(), 3) << "a word has several pieces";
    ASSERT_EQ(pieces.labels.size(), 2 * pieces.ids.size());
    std::size_t word = 0;
    const Ids tags = {4, 2, SourceFactors::kUnknown}, cases = {3, 2, 2};
    for (std::size_t i = 0; i < pieces.ids.size(); ++i) {
      if (i > 0 && tokenizer.begins_word(pieces.ids[i])) ++word;
      EXPECT_EQ(pieces.labels[2 * i], tags.at(word)) << i;
      EXPECT_EQ(pieces.labels[2 * i + 1], cases.at(word)) << i;
    }
    EXPECT_EQ(word, 2);

    const SourcePieces cut = encode_source(tokenizer, factors, line, 2);
    EXPECT_TRUE(cut.cut);
    EXPECT_EQ(cut.ids, Ids(pieces.ids.begin(), pieces.ids.begin() + 2));
    EXPECT_EQ(cut.labels, Ids(pieces.labels.begin(), pieces.labels.begin() + 4));
    EXPECT_FALSE(encode_source(tokenizer, factors, line, pieces.ids.size()).cut);
    const SourcePieces without = encode_source(tokenizer, {}, "long words");
    EXPECT_EQ(without.ids, tokenizer.encode("long words"));
    EXPECT_TRUE(without.labels.empty());
  }
}

TEST_F(FactorsTest, AreSavedBesideTheTokenizers) {
  const Tokenizer tokenizer = train_tokenizer({write("text", "a b c\n")}, {.type = TokenizerType::word});
  const TokenizerPair pair{.src = tokenizer, .tgt = tokenizer, .factors = SourceFactors({{"N", "V"}, {"\xC3\xBC"}})};
  const auto place = directory_ / "tokenizer";
  pair.save(place);
  const TokenizerPair loaded = TokenizerPair::load(place);
  EXPECT_EQ(loaded, pair);
  EXPECT_EQ(loaded.factors.sizes(), (std::vector<std::int64_t>{4, 3}));
  const std::string line =
      "a b\x1eV N\x1e"
      "n \xC3\xBC";
  EXPECT_EQ(encode_source(tokenizer, loaded.factors, line).labels, encode_source(tokenizer, pair.factors, line).labels);

  const TokenizerPair plain{.src = tokenizer, .tgt = tokenizer};
  EXPECT_FALSE(plain == pair);
  plain.save(place);
  EXPECT_EQ(TokenizerPair::load(place).factors.count(), 0);
  for (const char* damaged : {"[]", "{}", "[[1]]", "[[\"N\", \"N\"]]", "[\"N\"]", "[[\"N\""}) {
    write_file_atomic(place / "source-factors.json", damaged);
    expect_refused([&] { TokenizerPair::load(place); }, {"source-factors.json"});
  }
}

TEST_F(FactorsTest, TheCacheHasTheLabelsOfThePairsThatAreLeft) {
  const Tokenizer tokenizer =
      train_tokenizer({write("text", "a b c\nb a c\nc c a b\n")}, {.type = TokenizerType::word});
  const auto open = [&](const std::string& tags) {
    const std::vector<std::string> files = {write("tags", tags), write("case", "x y\nx\n\nx x x x x x x\ny x y\n")};
    return EncodedCorpus::open({.src_file = write("src", "a b\nc\n\nc c c c c c c\nb a c\n"),
                                .tgt_file = write("tgt", "b a\n\nc\nb\nc b\n"),
                                .src_tokenizer = tokenizer,
                                .tgt_tokenizer = tokenizer,
                                .factors = SourceFactors({{"N", "V"}, {"x", "y"}}),
                                .factor_files = files},
                               {.max_length = 6}, directory_ / "cache");
  };
  const std::string tags = "N V\nN\n\nV V V V V V V\nV N V\n";
  const EncodedCorpus corpus = open(tags);
  ASSERT_EQ(corpus.size(), 2);
  const std::vector<Ids> expected = {{2, 2, 3, 3}, {3, 3, 2, 2, 3, 3}};
  const std::vector<std::string> sources = {"a b", "b a c"}, targets = {"b a", "c b"};
  for (std::int64_t i = 0; i < 2; ++i) {
    const PairIds pair = corpus.pair(i);
    EXPECT_EQ(pair.labels, expected[i]);
    EXPECT_EQ(tokenizer.decode(pair.src), sources[i]);
    EXPECT_EQ(tokenizer.decode(pair.tgt), targets[i]);
  }
  EXPECT_TRUE(open(tags).from_cache());
  const EncodedCorpus other = open("V V\nN\n\nV V V V V V V\nV N V\n");
  EXPECT_FALSE(other.from_cache());
  EXPECT_NE(other.content_hash(), corpus.content_hash()) << "a run resumes with the same labels alone";
  // Also in lines that are skipped.
  expect_refused([&] { open("N V\nN\n\nV V\nV N V\n"); }, {"tags:4", "2 labels", "7 words"});
  expect_refused([&] { open(tags + "N\n"); }, {"tags:6", "only 5 lines"});
}

}  // namespace
}  // namespace attend
