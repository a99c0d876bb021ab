// Published vectors of words: what is read, what is refused, and the vectors of pieces that come of them.
#include "data/text/word_vectors.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "data/corpus/piece_vectors.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

class WordVectorsTest : public ::testing::Test {
 protected:
  std::string write(const std::string& text, const std::string& name = "vectors") {
    write_file_atomic(directory_ / name, text);
    return (directory_ / name).string();
  }

  WordVectors read(const std::string& text, std::int64_t width = 2) {
    return WordVectors::read(write(text), width, [](std::string_view word) { return word != "unwanted"; });
  }

  // Without the directory; with the remedy.
  std::string refusal(const std::string& text, std::int64_t width = 2) {
    try {
      read(text, width);
    } catch (const UserError& error) {
      return std::string(error.what()).substr(directory_.path().string().size() + 1) + " / " + error.remedy();
    }
    return "nothing refused";
  }

  static std::vector<float> vector_of(const WordVectors& vectors, const std::string& word) {
    const float* numbers = vectors.find(word);
    return numbers == nullptr ? std::vector<float>{} : std::vector<float>{numbers, numbers + 2};
  }

  TemporaryDirectory directory_;
};

using Numbers = std::vector<float>;

TEST_F(WordVectorsTest, GloVe) {
  const WordVectors vectors = read("dog 0.5 -1\ncat 2.5e-1 +3\n5 1 2\nü 7 8");
  EXPECT_EQ(vectors.size(), 4U);
  EXPECT_EQ(vector_of(vectors, "dog"), (Numbers{0.5F, -1}));
  EXPECT_EQ(vector_of(vectors, "cat"), (Numbers{0.25F, 3}));
  EXPECT_EQ(vector_of(vectors, "5"), (Numbers{1, 2}));
  EXPECT_EQ(vector_of(vectors, "ü"), (Numbers{7, 8}));
  EXPECT_EQ(vectors.find("mouse"), nullptr);
}

TEST_F(WordVectorsTest, FastText) {
  const WordVectors vectors = read("2 2\ndog 0.5 -1 \ncat 1e-60 3 \n");  // lines end with a space; 1e-60 is 0 in fp32
  EXPECT_EQ(vectors.size(), 2U);
  EXPECT_EQ(vector_of(vectors, "dog"), (Numbers{0.5F, -1}));
  EXPECT_EQ(vector_of(vectors, "cat"), (Numbers{0, 3}));
}

TEST_F(WordVectorsTest, Gzip) {
  const std::string path = (directory_ / "vectors.gz").string(), text = "dog 0.5 -1\n";
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  const WordVectors vectors = WordVectors::read(path, 2, [](std::string_view) { return true; });
  EXPECT_EQ(vector_of(vectors, "dog"), (Numbers{0.5F, -1}));
}

TEST_F(WordVectorsTest, KeepsWantedWordsAndPassesOverThoseWithSpaces) {
  const WordVectors vectors =
      read("dog 1 2\nunwanted 3 4\n. . . 5 6\nat name@domain.com 7 8\n\xC2\x85 9 9\nunwanted 3 4\n");
  EXPECT_EQ(vectors.size(), 1U);
}

TEST_F(WordVectorsTest, RefusesAnotherWidth) {
  EXPECT_EQ(
      refusal("dog 1 2 3\n"),
      "vectors:1: 3 numbers per word, expected 2, the width of the embeddings / set --width 3, or choose vectors of "
      "the model's width");
  EXPECT_EQ(refusal("1 300\ndog 1 2\n").substr(0, 35), "vectors:1: 300 numbers per word, ex");
  EXPECT_EQ(refusal("dog 1 2\n", 3).substr(0, 33), "vectors:1: 2 numbers per word, ex");
}

TEST_F(WordVectorsTest, RefusesMalformedLines) {
  EXPECT_EQ(refusal("dog 1 2\ncat 1\n").substr(0, 44), "vectors:2: a word and 1 numbers, expected 2 ");
  EXPECT_EQ(refusal("dog 1 2\ncat 1 2 3\n").substr(0, 44), "vectors:2: a word and 3 numbers, expected 2 ");
  EXPECT_EQ(refusal("dog 1 2\n\nu 1 2\n").substr(0, 44), "vectors:2: a word and 0 numbers, expected 2 ");
  EXPECT_EQ(refusal("dog 1 2\nunwanted 1\n").substr(0, 44), "vectors:2: a word and 1 numbers, expected 2 ");
  for (const std::string number : {"x", "nan", "inf", "-inf", "1e39", "0x1", "1,5", "--1"}) {
    EXPECT_EQ(refusal("dog 1 2\ncat 1 " + number + "\n"),
              "vectors:2: \"" + number +
                  "\" in the vector of \"cat\", expected a finite number / correct the line, or "
                  "download the file again");
  }
}

TEST_F(WordVectorsTest, RefusesDuplicatesMissingLinesAndEmptyFiles) {
  EXPECT_EQ(refusal("dog 1 2\ncat 1 2\ndog 3 4\n"), "vectors:3: the word \"dog\" is a duplicate / remove one of them");
  EXPECT_EQ(refusal("3 2\ndog 1 2\n").substr(0, 50), "vectors: 1 vectors, but its first line states 3 / ");
  EXPECT_EQ(refusal("999999999999999 2\n").substr(0, 19), "vectors: no vectors");
  EXPECT_EQ(refusal("").substr(0, 19), "vectors: no vectors");
}

TEST_F(WordVectorsTest, APieceHasTheMeanOfItsWords) {
  const std::string text = write("do dog do\nzoo\n", "text");
  const WordCounts words = count_words(text);
  EXPECT_EQ(words, (WordCounts{{"do", 2}, {"dog", 1}, {"zoo", 1}}));
  const Tokenizer tokenizer = train_tokenizer({text}, {.type = TokenizerType::character});
  const PieceVectors found = read_piece_vectors(write("dog 3 0\ndo 0 6\nmouse 9 9\n"), 2, words, tokenizer);
  const auto vector_of_piece = [&](const std::string& piece) {
    const auto place = std::ranges::find(found.pieces, tokenizer.id_of(piece)) - found.pieces.begin();
    const auto first = found.numbers.begin() + 2 * place;
    return place == std::ssize(found.pieces) ? Numbers{} : Numbers(first, first + 2);
  };
  EXPECT_EQ(vector_of_piece("d"), (Numbers{1, 4}));
  EXPECT_EQ(vector_of_piece("o"), (Numbers{1, 4}));  // "zoo" has no vector
  EXPECT_EQ(vector_of_piece("g"), (Numbers{3, 0}));
  EXPECT_EQ(vector_of_piece("z"), Numbers{});
  EXPECT_DOUBLE_EQ(found.share_of_pieces, 3.0 / tokenizer.size());
  // Of ▁ four times, d three, o five, g and z once, which are 14: all but ▁ and z.
  EXPECT_DOUBLE_EQ(found.share_of_tokens, 9.0 / 14);
}

TEST_F(WordVectorsTest, AWordIsAPieceOrTakenApart) {
  const std::string text = write("dog dog. (dog) cat! ü-x\n", "text");
  const Tokenizer tokenizer = train_tokenizer({text}, {.type = TokenizerType::word});
  const PieceVectors found =
      read_piece_vectors(write("dog 1 2\ndog. 3 4\ncat 5 6\n! 7 8\nü 0 1\nx 1 0\n"), 2, count_words(text), tokenizer);
  const auto vector_of_piece = [&](const std::string& word) {
    const auto place = std::ranges::find(found.pieces, tokenizer.id_of("\u2581" + word)) - found.pieces.begin();
    const auto first = found.numbers.begin() + 2 * place;
    return place == std::ssize(found.pieces) ? Numbers{} : Numbers(first, first + 2);
  };
  EXPECT_EQ(vector_of_piece("dog"), (Numbers{1, 2}));
  EXPECT_EQ(vector_of_piece("dog."), (Numbers{3, 4}));
  EXPECT_EQ(vector_of_piece("(dog)"), (Numbers{1, 2}));
  EXPECT_EQ(vector_of_piece("cat!"), (Numbers{5, 6}));
  EXPECT_EQ(vector_of_piece("ü-x"), (Numbers{0, 1}));
  EXPECT_DOUBLE_EQ(found.share_of_tokens, 1);
}

TEST_F(WordVectorsTest, RefusesAFileOfOtherWords) {
  const std::string text = write("Dog\n", "text");
  const Tokenizer tokenizer = train_tokenizer({text}, {.type = TokenizerType::character});
  try {
    read_piece_vectors(write("dog 1 2\n"), 2, count_words(text), tokenizer);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("none of its words occurs"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace attend
