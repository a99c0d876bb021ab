// Files of word vectors with and without a first line, of analogies and of rated pairs, and what is refused by file and
// line.
#include "data/text/word_vectors.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

class WordFiles : public TestWithFiles {
 protected:
  std::string write_words(const std::string& text) const { return write("words", text); }
  WordVectors read(const std::string& text, std::int64_t most = 100) {
    return read_word_vectors(write_words(text), most);
  }

  // What `read` says, after the name of the directory.
  std::string refusal(const std::function<void()>& read) {
    return without_place(user_error_of(read), directory_.path().string() + "/");
  }
  std::string refused_vectors(const std::string& text) {
    return refusal([&] { read(text); });
  }
  std::string refused_analogies(const std::string& text) {
    return refusal([&] { read_analogies(write_words(text)); });
  }
  std::string refused_pairs(const std::string& text) {
    return refusal([&] { read_rated_pairs(write_words(text)); });
  }
};

using WordList = std::vector<std::string>;

TEST_F(WordFiles, HaveTheSameVectorsWithAndWithoutAFirstLine) {
  for (const std::string first : {"", "2 3\n"}) {
    const WordVectors vectors = read(first + "the 1 -0.5 2e-1\nkönig 0 +3 1e-60 \n");  // fastText ends with a space
    EXPECT_EQ(vectors.words, (WordList{"the", "könig"}));
    EXPECT_EQ(vectors.width, 3);
    EXPECT_EQ(vectors.values, (std::vector<float>{1, -0.5F, 0.2F, 0, 3, 0}));
  }
}

TEST_F(WordFiles, AreReadAsFarAsAsked) {
  EXPECT_EQ(read("9 1\na 1\nb 2\nc 3\n", 2).words, (WordList{"a", "b"}));
  EXPECT_EQ(read("3 1\na 1\nb 2\nc 3\n", 3).words, (WordList{"a", "b", "c"}));
  EXPECT_EQ(read("a 1\nb 2\nc\n", 2).values, (std::vector<float>{1, 2}));  // the fault is behind them
}

TEST_F(WordFiles, KeepTheFirstOfEqualWordsAndNoBlankOne) {
  const WordVectors vectors = read("a 1 2\n\xC2\x85 5 6\na 3 4\n. . 7 8\n2 9 10\n");
  EXPECT_EQ(vectors.words, (WordList{"a", ". .", "2"}));
  EXPECT_EQ(vectors.values, (std::vector<float>{1, 2, 7, 8, 9, 10}));
}

TEST_F(WordFiles, OfVectorsAreRefusedByLine) {
  EXPECT_EQ(refused_vectors("a 1 2\nb 1\n"), "words:2: 1 value, expected 2");
  EXPECT_EQ(refused_vectors("a 1 2\nb 1 2 3\n"), "words:2: 3 values, expected 2");
  EXPECT_EQ(refused_vectors("2 2\na 1\n"), "words:2: 1 value, expected 2");
  EXPECT_EQ(refused_vectors("a 1 2\n\n"), "words:2: 0 values, expected 2");
  EXPECT_EQ(refused_vectors("a 1 nan\n"), "words:1: value 2 of \"a\" is \"nan\", expected a finite number");
  EXPECT_EQ(refused_vectors("a 1 2\nb inf 2\n"), "words:2: value 1 of \"b\" is \"inf\", expected a finite number");
  EXPECT_EQ(refused_vectors("a 1 1e39\n"), "words:1: value 2 of \"a\" is \"1e39\", expected a finite number");
  EXPECT_EQ(refused_vectors("a 1  2\n"), "words:1: value 2 of \"a\" is \"\", expected a finite number");
  EXPECT_EQ(refused_vectors("just\n"), "words:1: \"just\" has no numbers");
  EXPECT_EQ(refused_vectors("1000000000000 1000000000000\na 1\n"), "words:2: 1 value, expected 1000000000000");
  EXPECT_EQ(refused_vectors("3 1\na 1\nb 2\n"), "words: 2 vectors, but its first line says 3");
  EXPECT_EQ(refused_vectors("1 1\na 1\nb 2\n"), "words: 2 vectors, but its first line says 1");
  EXPECT_EQ(refused_vectors("3 1\n"), "words: no vectors");
  EXPECT_EQ(refused_vectors(""), "words: no vectors");
}

TEST_F(WordFiles, OfAnalogiesHaveSections) {
  const auto sections =
      read_analogies(write_words(": capitals\nAthens Greece Oslo Norway\n\n: empty\n:family\na  b\tc d\n"));
  ASSERT_EQ(sections.size(), 3U);
  EXPECT_EQ(sections[0].name, "capitals");
  EXPECT_EQ(sections[0].questions, (std::vector<AnalogyQuestion>{{"Athens", "Greece", "Oslo", "Norway"}}));
  EXPECT_EQ(sections[1].questions.size(), 0U);
  EXPECT_EQ(sections[2].name, "family");
  EXPECT_EQ(sections[2].questions, (std::vector<AnalogyQuestion>{{"a", "b", "c", "d"}}));
}

TEST_F(WordFiles, OfAnalogiesAreRefusedByLine) {
  EXPECT_EQ(refused_analogies(": one\na b c\n"), "words:2: 3 words, expected 4");
  EXPECT_EQ(refused_analogies("a b c d\n"), "words:1: a question before the first section");
  EXPECT_EQ(refused_analogies(": one\n"), "words: no questions");
}

TEST_F(WordFiles, OfPairsHaveScores) {
  const auto pairs = read_rated_pairs(write_words("# word word score\ntiger\tcat\t7.35\r\n\nnew york\tcity\t-1\n"));
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].second, "cat");
  EXPECT_EQ(pairs[0].score, 7.35);
  EXPECT_EQ(pairs[1].first, "new york");
  EXPECT_EQ(pairs[1].score, -1);
}

TEST_F(WordFiles, OfPairsAreRefusedByLine) {
  EXPECT_EQ(refused_pairs("a\tb\t1\na b 2\n"), "words:2: 1 tab-separated field, expected 3");
  EXPECT_EQ(refused_pairs("a\t \t1\n"), "words:1: a word is blank");
  EXPECT_EQ(refused_pairs("Word 1\tWord 2\tHuman\n"), "words:1: the score is \"Human\", expected a finite number");
  EXPECT_EQ(refused_pairs("a\tb\tnan\n"), "words:1: the score is \"nan\", expected a finite number");
  EXPECT_EQ(refused_pairs("# nothing\n"), "words: no pairs");
}

}  // namespace
}  // namespace attend
