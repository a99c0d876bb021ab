// Weights of pieces merged into weights of words, and the links that follow.
#include "eval/pair_attention.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/small_run.hpp"

namespace attend {
namespace {

torch::Tensor weights(const std::vector<std::vector<double>>& rows) {
  torch::Tensor result = at::empty({std::ssize(rows), std::ssize(rows[0])}, at::kFloat);
  for (std::size_t t = 0; t < rows.size(); ++t) {
    result[static_cast<std::int64_t>(t)] = at::tensor(at::ArrayRef<double>(rows[t]), at::kDouble);
  }
  return result;
}

TEST(Alignment, PiecesAreOfTheWordsThatTheyOverlap) {
  //                              ▁a      ▁wh     ole     ▁day
  EXPECT_EQ(pieces_of_words("a whole day", {{0, 1}, {1, 4}, {4, 7}, {7, 11}}), (PiecesOfWords{{0}, {1, 2}, {3}}));
  // A space alone is of the word behind it, a piece over two words of both, one behind the last word of none.
  EXPECT_EQ(pieces_of_words(" a b c ", {{0, 1}, {1, 4}, {4, 5}, {5, 6}, {6, 7}}), (PiecesOfWords{{0, 1}, {1}, {2, 3}}));
  // A character as three bytes, of which the last has the width.
  EXPECT_EQ(pieces_of_words("\xe4\xb8\xad x", {{0, 0}, {0, 0}, {0, 3}, {3, 5}}), (PiecesOfWords{{0, 1, 2}, {3}}));
  // U+00A0 is not between words, as in files of links.
  EXPECT_EQ(pieces_of_words("a\xc2\xa0x b", {{0, 1}, {1, 4}, {4, 6}}), (PiecesOfWords{{0, 1}, {2}}));
  EXPECT_EQ(pieces_of_words("cut off", {{0, 2}}), (PiecesOfWords{{0}, {}}));
  EXPECT_EQ(pieces_of_words(" ", {{0, 1}}), PiecesOfWords{});
}

TEST(Alignment, CharactersAreWordsOfTextWithoutSpaces) {
  using Words = std::vector<std::string_view>;
  EXPECT_EQ(aligned_words("我喜欢BERT模型。"), (Words{"我", "喜", "欢", "BERT", "模", "型。"}));
  EXPECT_EQ(aligned_words("他说：「3只猫」，no!"), (Words{"他", "说：「", "3", "只", "猫」，", "no!"}));
  EXPECT_EQ(aligned_words("あのコーヒー 2杯"), (Words{"あ", "の", "コ", "ー", "ヒ", "ー", "2", "杯"}));
  // A space between two of them: as it was split by others.
  EXPECT_EQ(aligned_words("我 喜欢 BERT 模型 。"), (Words{"我", "喜欢", "BERT", "模型", "。"}));
  EXPECT_EQ(aligned_words(" ein ganzer\tTag. "), (Words{"ein", "ganzer", "Tag."}));
  EXPECT_EQ(aligned_words("\xe6\x88 \xff我"), (Words{"\xe6\x88", "\xff", "我"}));  // not UTF-8
  EXPECT_TRUE(aligned_words(" ").empty());
  EXPECT_EQ(count_words({"我喜欢", "我 喜欢", ""}), (std::vector<std::int64_t>{3, 2, 0}));
  // Pieces 我 喜欢 狗 。: one over two words is of both, that of attached punctuation of none.
  EXPECT_EQ(pieces_of_words("我喜欢狗。", {{0, 3}, {3, 9}, {9, 12}, {12, 15}}), (PiecesOfWords{{0}, {1}, {1}, {2}}));
}

TEST(Alignment, PiecesOfATreeAreThoseOfItsPlaces) {
  // "du \u00fc": the first place is a token of two words; the last character is two bytes, the second of which has the
  // width.
  const TreeSentence tree{.text = "du \u00fc", .places = {{0, 2}, {0, 2}, {3, 5}}};
  const std::vector<Piece> pieces = {
      {1, "\u2581du", 0, 2}, {2, "\u2581", 2, 3}, {3, "<0xC3>", 3, 3}, {4, "<0xBC>", 3, 5}};
  EXPECT_EQ(pieces_of_words(tree, pieces), (PiecesOfWords{{0}, {0}, {1, 2, 3}}));
}

TEST(Alignment, PunctuationWithinAWordOfATreeIsItsOwn) {
  // A space alone is of the word behind it; as one token of two words, both have it.
  const std::vector<Piece> pieces = {{1, "\u2581", 0, 0}, {2, "do", 0, 2}, {3, "n", 2, 3},
                                     {4, "'", 3, 4},      {5, "t", 4, 5},  {6, ".", 5, 6}};
  const TreeSentence apart{.text = "don't.", .places = {{0, 2}, {2, 5}, {5, 6}}};
  EXPECT_EQ(pieces_of_words(apart, pieces), (PiecesOfWords{{0, 1}, {2, 3, 4}, {5}}));
  const TreeSentence together{.text = "don't.", .places = {{0, 5}, {0, 5}, {5, 6}}};
  EXPECT_EQ(pieces_of_words(together, pieces), (PiecesOfWords{{0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}, {5}}));
}

TEST(Alignment, PunctuationAttachedToAWordDoesNotCount) {
  //                              ▁„Nun    ,        ▁-       ▁ja       “.         (the quotation marks have three bytes)
  EXPECT_EQ(pieces_of_words("\u201eNun, - ja\u201c.", {{0, 6}, {6, 7}, {7, 9}, {9, 12}, {12, 16}}),
            (PiecesOfWords{{0}, {2}, {3}}));
  // A vowel sign (Devanagari U+093F) is a part of its word.
  EXPECT_EQ(pieces_of_words("\u0915\u093f.", {{0, 3}, {3, 6}, {6, 7}}), (PiecesOfWords{{0, 1}}));
}

TEST(Alignment, SourcePiecesAreAddedAndTargetPiecesAveraged) {
  // The largest single weight is that of source word 2; together the pieces of word 1 have more.
  const auto links = align_words(weights({{0.1, 0.2, 0.2, 0.4, 0.1}, {0.1, 0.3, 0.2, 0.3, 0.1}, {0, 0, 0, 0, 1}}),
                                 {{0}, {1, 2}, {3}}, {{0, 1}});
  EXPECT_EQ(links, (std::vector<Link>{{1, 0}}));
}

TEST(Alignment, EveryTargetWordOfEveryPieceCounts) {
  // Row 1 alone would choose word 0; rows 1 and 2 together choose word 1.
  const auto links =
      align_words(weights({{0.1, 0.9}, {0.6, 0.4}, {0.1, 0.9}, {0.8, 0.2}}), {{0}, {1}}, {{0}, {1, 2}, {3}});
  EXPECT_EQ(to_text(links), "0-2 1-0 1-1");
}

// All of the second word's weight is on the end of the sentence; the third has none.
TEST(Alignment, NoWeightOnWordsGivesNoLink) {
  const auto links = align_words(weights({{0.4, 0.5, 0.1}, {0, 0, 1}, {0, 0, 0}}), {{0}, {1}}, {{0}, {1}, {2}});
  EXPECT_EQ(to_text(links), "1-0");
}

TEST(Alignment, EqualWeightsTakeTheFirstAndNoSourceGivesNoLink) {
  EXPECT_EQ(to_text(align_words(weights({{0.5, 0.5}}), {{0}, {1}}, {{0}})), "0-0");
  EXPECT_EQ(to_text(align_words(weights({{0.5, 0.5}}), {}, {{0}})), "");
  EXPECT_EQ(to_text(align_words(weights({{0.5, 0.5}}), {{0}, {1}}, {})), "");
}

TEST(Alignment, DecodedPiecesCoverTheirText) {
  const Tokenizer tokenizer = small_tokenizer({.size = 64});
  for (const std::string text : {"the dog sees birds", "birds number 12 and \xe4\xb8\xad unknown", "xyzzy"}) {
    const auto ids = tokenizer.encode(text);
    const std::string decoded = tokenizer.decode(ids);
    const auto bytes = decoded_bytes(tokenizer, ids);
    ASSERT_EQ(bytes.size(), ids.size());
    EXPECT_EQ(bytes.back().end, decoded.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      EXPECT_LE(bytes[i].begin, bytes[i].end);
      EXPECT_EQ(bytes[i].begin, i == 0 ? 0 : bytes[i - 1].end);
    }
    // Read from the last piece to the first, they are the same pieces.
    const std::vector<std::int32_t> last_first(ids.rbegin(), ids.rend());
    const auto reversed = decoded_bytes(tokenizer.reversed(), last_first);
    const auto words = pieces_of_words(decoded, bytes), words_reversed = pieces_of_words(decoded, reversed);
    for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(reversed[bytes.size() - 1 - i].begin, bytes[i].begin);
    for (std::size_t w = 0; w < words.size(); ++w) {
      ASSERT_EQ(words_reversed[w].size(), words[w].size());
      for (const std::int64_t piece : words_reversed[w]) {
        EXPECT_TRUE(std::ranges::count(words[w], std::ssize(ids) - 1 - piece)) << text;
      }
    }
    // Each word begins with a piece that begins a word; unk is one of its own wherever it stands.
    const auto is_unknown = [&](std::int64_t piece) { return ids[piece] == tokenizer.special().unk; };
    for (const auto& pieces : pieces_of_words(decoded, bytes)) {
      ASSERT_FALSE(pieces.empty());
      const std::int64_t first = pieces[0];
      EXPECT_TRUE(tokenizer.begins_word(ids[first]) || is_unknown(first) || is_unknown(first - 1)) << text;
    }
  }
  EXPECT_TRUE(decoded_bytes(tokenizer, {}).empty());
}

TEST(Alignment, OfALongReversedTargetTheBeginningIsRead) {
  const Tokenizer tokenizer = small_tokenizer({.size = 64}), reversed = tokenizer.reversed();
  std::string text = "birds number 12";
  for (int i = 0; i < 400; ++i) text += " the dog sees";
  const PiecePair pair = pair_in_pieces({.src = tokenizer, .tgt = reversed}, "birds", text);
  EXPECT_EQ(pair.target_ids, reversed.encode_beginning(text, kMostPieces).ids);
}

}  // namespace
}  // namespace attend
