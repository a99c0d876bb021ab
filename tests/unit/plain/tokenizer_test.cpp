// Tokenizers of every type: ids, offsets, hygiene, and the same bytes for the same text.
#include "data/tokenizer/tokenizer.hpp"

#include <gtest/gtest.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/random.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

class TokenizerTest : public TestWithFiles {
 protected:
  void SetUp() override {
    const std::vector<std::string> words = {
        "A",     "dog",    "The",    "girls", "runs",  "running",  "jumping", "green",   "field",  "are",   "over",
        "Zwei",  "Männer", "stehen", "am",    "Herd",  "bereiten", "Essen",   "Mädchen", "läuft",  "nach",  "Hause",
        "house", "stand",  "stove",  "food",  "quick", "brown",    "Straße",  "schnell", "Wasser", "water", "12"};
    std::string text;
    RandomStream random(1);
    for (std::size_t i = 0; i < 400; ++i) {
      for (std::size_t k = 0; k < 6; ++k) text += words[random.below(words.size())] + " ";
      text += ", .\n";
    }
    corpus_ = write("corpus", text);
  }
  Tokenizer train(TokenizerConfig config = {}) { return train_tokenizer({corpus_}, config); }

  std::string corpus_;
};

const std::vector<TokenizerType> kTypes = {TokenizerType::unigram, TokenizerType::bpe, TokenizerType::word,
                                           TokenizerType::character};

TEST_F(TokenizerTest, GivesTheSpecialIds) {
  for (const auto type : kTypes) {
    const Tokenizer tokenizer = train({.type = type});
    const SpecialIds ids = tokenizer.special();
    EXPECT_EQ((std::vector{ids.pad, ids.unk, ids.bos, ids.eos, ids.cls, ids.sep, ids.mask}),
              (std::vector{0, 1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(tokenizer.piece(ids.mask), "<mask>");
  }
}

TEST_F(TokenizerTest, LeavesTheRarestOfManyCharactersUnknown) {
  std::string text, rare;
  for (int i = 0; i < 4000; ++i) text += "the quick brown house\n";
  for (UChar32 i = 0; i < 1100; ++i) icu::UnicodeString(UChar32{0x4E00} + i).toUTF8String(rare);
  const auto num_unknown = [&](std::size_t characters, std::optional<double> coverage) {
    const std::string some = rare.substr(0, 3 * characters);
    const Tokenizer tokenizer = train_tokenizer({write("text", text + some + "\n")}, {.character_coverage = coverage});
    return std::ranges::count(tokenizer.encode(some), tokenizer.special().unk);
  };
  EXPECT_EQ(num_unknown(900, {}), 0);
  EXPECT_GT(num_unknown(1100, {}), 0);
  EXPECT_EQ(num_unknown(1100, 1), 0);
}

TEST_F(TokenizerTest, DecodesWhatItEncoded) {
  for (const auto type : kTypes) {
    const Tokenizer tokenizer = train({.type = type});
    const std::string text = type == TokenizerType::word ? "The girls are stehen" : "A Mädchen runs 12.";
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text) << name_of(type);
  }
}

TEST_F(TokenizerTest, SaysWhichBytesAPieceStandsFor) {
  for (const auto type : kTypes) {
    const Tokenizer tokenizer = train({.type = type});
    // The ligature becomes two letters, the double space one, and offsets still are those of the text.
    const std::string text = "Zwei  \xEF\xAC\x81 Männer ☃ x";
    const auto pieces = tokenizer.encode_pieces(text);
    const auto ids = tokenizer.encode(text);
    ASSERT_EQ(pieces.size(), ids.size());
    std::size_t end = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(pieces[i].id, ids[i]);
      EXPECT_EQ(pieces[i].begin, end);
      EXPECT_GE(pieces[i].end, pieces[i].begin);
      end = pieces[i].end;
    }
    EXPECT_EQ(end, text.size());
  }
}

TEST_F(TokenizerTest, TextNeverBecomesASpecialId) {
  for (const auto type : kTypes) {
    for (const bool bytes : {false, true}) {
      if (bytes && (type == TokenizerType::word || type == TokenizerType::character)) continue;
      const Tokenizer tokenizer = train({.type = type, .byte_fallback = bytes});
      for (const char* text :
           {"</s>", "<s> <pad> </s>", "a<mask>b", "<cls>", "<sep> <unk>", "▁</s>", "▁<s>", "<0x41>"}) {
        for (const auto& piece : tokenizer.encode_pieces(text)) {
          EXPECT_TRUE(piece.id == tokenizer.special().unk || piece.id > tokenizer.special().mask) << text;
          EXPECT_NE(piece.text, "<0x41>") << name_of(type) << text;
        }
      }
    }
  }
}

TEST_F(TokenizerTest, TakesAnyBytes) {
  const Tokenizer tokenizer = train();
  EXPECT_TRUE(tokenizer.encode("").empty());
  EXPECT_TRUE(tokenizer.encode(" \t  ").empty());
  EXPECT_FALSE(tokenizer.encode("☃☃☃").empty());
  EXPECT_FALSE(tokenizer.encode("\xFF\xFE dog \x80").empty());
  EXPECT_FALSE(tokenizer.encode(std::string_view("do\0g", 4)).empty());
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("dog")), "dog");
  const std::string long_line(1 << 20, 'a');
  EXPECT_FALSE(tokenizer.encode(long_line).empty());
}

TEST_F(TokenizerTest, ReversedGivesTheLastPieceFirstAndTheSameText) {
  const Tokenizer tokenizer = train(), reversed = tokenizer.reversed();
  const std::string text = "The quick brown dog läuft nach Hause";
  std::vector<std::int32_t> ids = tokenizer.encode(text);
  ASSERT_NE(ids.front(), ids.back());
  const Beginning beginning = tokenizer.encode_beginning(text, 3), last_first = reversed.encode_beginning(text, 3);
  EXPECT_EQ(last_first.ids, std::vector<std::int32_t>(beginning.ids.rbegin(), beginning.ids.rend()));
  EXPECT_TRUE(last_first.cut);
  std::ranges::reverse(ids);
  EXPECT_EQ(reversed.encode(text), ids);
  EXPECT_EQ(reversed.decode(ids), text);
  EXPECT_EQ(reversed.encode_pieces(text).front().end, text.size());
  EXPECT_TRUE(reversed.is_reversed());
  EXPECT_EQ(reversed.hash(), tokenizer.hash());
  EXPECT_EQ(reversed.reversed().encode(text), tokenizer.encode(text));
}

TEST_F(TokenizerTest, ReadsNoMoreOfATextThanItsBeginning) {
  const Tokenizer tokenizer = train();
  const std::string text = "The quick brown dog runs over the green field";
  const std::vector<std::int32_t> all = tokenizer.encode(text);
  for (const std::size_t most : {std::size_t{0}, std::size_t{1}, all.size() - 1, all.size(), all.size() + 1}) {
    const Beginning beginning = tokenizer.encode_beginning(text, most);
    EXPECT_EQ(beginning.cut, most < all.size());
    EXPECT_TRUE(std::ranges::equal(beginning.ids, std::span(all).first(std::min(most, all.size()))));
  }
  std::string endless;
  for (int i = 0; i < 2'000'000; ++i) endless += "Männer ";
  const Beginning beginning = tokenizer.encode_beginning(endless, 10);
  EXPECT_TRUE(beginning.cut);
  EXPECT_EQ(beginning.ids, tokenizer.encode_beginning(endless.substr(0, 1000), 10).ids);
  EXPECT_TRUE(tokenizer.encode_beginning(std::string(1 << 20, ' '), 10).cut) << "what was not read may be anything";
}

TEST_F(TokenizerTest, DecodesToOneLine) {
  const Tokenizer tokenizer = train({.byte_fallback = true});
  std::vector<std::int32_t> ids = tokenizer.encode("dog");
  for (const char* byte :
       {"<0x0A>", "<0x0D>", "<0x00>", "<0x0B>", "<0x1C>", "<0xC2>", "<0x85>", "<0xE2>", "<0x80>", "<0xA8>"}) {
    ids.push_back(tokenizer.id_of(byte));
    ASSERT_EQ(tokenizer.piece(ids.back()), byte);
  }
  EXPECT_EQ(tokenizer.decode(ids), "dog       ");  // U+0085 and U+2028 are two and three bytes
  EXPECT_THROW(tokenizer.decode(std::vector<std::int32_t>{tokenizer.size()}), std::out_of_range);
  EXPECT_THROW(tokenizer.decode(std::vector<std::int32_t>{-1}), std::out_of_range);
}

TEST_F(TokenizerTest, SameTextSameBytes) {
  const std::string elsewhere = write("some other name.txt", read_file(corpus_));
  for (const auto type : kTypes) {
    const TokenizerConfig config{.type = type};
    const Tokenizer first = train_tokenizer({corpus_}, config);
    const Tokenizer second = train_tokenizer({elsewhere}, config);
    EXPECT_EQ(first.bytes(), second.bytes());
    EXPECT_EQ(first.hash(), second.hash());
    EXPECT_EQ(first.bytes().find("corpus"), std::string::npos);
    EXPECT_NE(first.hash(), train_tokenizer({corpus_}, {.type = type, .lower_case = true}).hash());
  }
}

TEST_F(TokenizerTest, LowersCase) {
  const Tokenizer tokenizer = train({.lower_case = true});
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("A DOG, Männer")), "a dog, männer");
  EXPECT_THROW(train({.normalisation = Normalisation::identity, .lower_case = true}), UserError);
}

TEST_F(TokenizerTest, LearnsFromASample) {
  const Tokenizer first = train({.sample = 100});
  const Tokenizer second = train({.sample = 100});
  EXPECT_EQ(first.bytes(), second.bytes());
  EXPECT_NE(first.bytes(), train().bytes());
}

TEST_F(TokenizerTest, SaysWhichSizeIsPossible) {
  const std::string too_large = error_and_remedy_of([&] { train({.size = 100'000}); });
  const std::size_t limit = too_large.find("at most ");
  ASSERT_NE(limit, std::string::npos) << too_large;
  const auto most = std::stoll(too_large.substr(limit + 8));
  EXPECT_EQ(train({.size = most}).size(), most);
  const std::string too_small = error_and_remedy_of([&] { train({.size = 16}); });
  const auto least = std::stoll(too_small.substr(too_small.find("--size ") + 7));
  EXPECT_EQ(train({.size = least}).size(), least);
  for (const std::int64_t size : {1, 3, 6}) {
    EXPECT_NE(error_and_remedy_of([&] { train({.type = TokenizerType::word, .size = size}); }).find("at least 7 "),
              std::string::npos)
        << size;
  }
  const TokenizerConfig bytes{.type = TokenizerType::character, .size = 262, .byte_fallback = true};
  EXPECT_NE(error_and_remedy_of([&] { train(bytes); }).find("at least 263 "), std::string::npos);
}

TEST_F(TokenizerTest, TrainsOnTheSmallestText) {
  for (const auto type : kTypes) {
    for (const char* text : {"a", "a b\n", "\n\nab\n", "aaaaaaaaaaaaaaaa", "a\tb", "▁", "\u200B", "\uFFFD", "▅", " \t",
                             "<s> </s>\n<unk> <pad>"}) {
      const std::string file = write("tiny", text);
      user_error_of([&] { train_tokenizer({file}, {.type = type}); });
    }
  }
  const std::string file = write("tiny", "aaaa aaaa\n");  // for fewer pieces than --size may ask for
  EXPECT_NE(error_and_remedy_of([&] { train_tokenizer({file}, {.size = 16}); }).find(" | leave --size out"),
            std::string::npos);
  EXPECT_THROW(train_tokenizer({write("blank", "\n\n\n")}, {}), UserError);
  EXPECT_THROW(train_tokenizer({write("empty", "")}, {}), UserError);
  EXPECT_THROW(train_tokenizer({"/nowhere/file"}, {}), UserError);
}

TEST_F(TokenizerTest, RefusesWhatIsNoModel) {
  EXPECT_THROW(Tokenizer::load("/nowhere/model"), UserError);
  EXPECT_THROW(Tokenizer::load(directory_.path()), UserError);
  EXPECT_THROW(Tokenizer::from_bytes(""), UserError);
  EXPECT_THROW(Tokenizer::from_bytes("not a model"), UserError);
  const std::string bytes = train().bytes();
  EXPECT_THROW(Tokenizer::from_bytes(bytes.substr(0, bytes.size() / 2)), UserError);
}

}  // namespace
}  // namespace attend
