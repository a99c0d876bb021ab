// A tokenizer file that was damaged at random is refused, or encodes and decodes like any other; nothing else happens.
// The library that reads it trusts its files, so what the sanitizers watch here is our check before it.
#include "data/tokenizer/tokenizer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/random.hpp"
#include "data/tokenizer/wordpiece.hpp"
#include "tests/support/protobuf.hpp"
#include "tests/support/tokenizer.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

// Whether it was taken; if so, uses it.
bool is_taken(const std::string& bytes) {
  try {
    const Tokenizer tokenizer = Tokenizer::from_bytes(bytes);
    std::vector<std::int32_t> ids = tokenizer.encode("a ba\xCC\x88 \xEF\xAC\x81 cab ☃ <unk> \xFF ﷺ ab");
    EXPECT_EQ(tokenizer.encode_pieces("cab").size(), tokenizer.encode("cab").size());
    for (std::int32_t id = 0; id < std::min(tokenizer.size(), 64); ++id) ids.push_back(id);
    tokenizer.decode(ids);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

std::string make_model(TokenizerConfig config) {
  return tokenizer_of("ab ba cab\nabc bca acb\nfish ba\n", config).bytes();
}

std::string damage(std::string bytes, std::size_t begin, std::size_t end, RandomStream& random) {
  for (std::uint64_t edits = 1 + random.below(3); edits > 0; --edits) {
    const std::size_t place = begin + random.below(end - begin);
    switch (random.below(4)) {
      case 0: bytes[place] = static_cast<char>(random.below(256)); break;
      case 1: bytes[place] = static_cast<char>(bytes[place] ^ (1 << random.below(8))); break;
      case 2: bytes.insert(place, 1, static_cast<char>(random.below(256))); break;
      default: bytes.erase(place, 1 + random.below(4));
    }
    end = std::min(end, bytes.size());
    if (begin >= end) break;
  }
  return bytes;
}

class TokenizerFuzz : public ::testing::TestWithParam<TokenizerType> {};

TEST_P(TokenizerFuzz, DamageToPiecesIsRefusedOrHarmless) {
  const std::string good =
      make_model({.type = GetParam(),
                  .byte_fallback = GetParam() == TokenizerType::unigram || GetParam() == TokenizerType::bpe,
                  .normalisation = Normalisation::identity});  // without its large table, all bytes are structure
  ASSERT_TRUE(is_taken(good));
  RandomStream random(3);
  int taken = 0;
  for (int round = 0; round < 1500; ++round) taken += is_taken(damage(good, 0, good.size(), random));
  EXPECT_GT(taken, 50);
  EXPECT_LT(taken, 1400);
  for (std::size_t size = 0; size < good.size(); size += 7) is_taken(good.substr(0, size));
}

TEST_P(TokenizerFuzz, DamageToTheNormalisationTableIsRefusedOrHarmless) {
  const std::string good = make_model({.type = GetParam()});
  ASSERT_TRUE(is_taken(good));
  // The table is nearly all of this model.
  RandomStream random(4);
  for (int round = 0; round < 60; ++round) is_taken(damage(good, good.size() / 50, good.size(), random));
}

TEST(TokenizerFuzz, DamageToAWordPieceVocabularyIsRefusedOrHarmless) {
  const std::string good = to_wordpiece_json(
      WordPiece({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "##b", "ca", "fi"}, {}, "test"));
  ASSERT_TRUE(is_taken(good));
  RandomStream random(6);
  int taken = 0;
  for (int round = 0; round < 3000; ++round) taken += is_taken(damage(good, 0, good.size(), random));
  EXPECT_GT(taken, 100);
  EXPECT_LT(taken, 2900);
}

TEST(TokenizerFuzz, DamageToAByteLevelBpeIsRefusedOrHarmless) {
  const std::string good =
      read_file(std::filesystem::path(ATTEND_SOURCE_DIR) / "tests/parity/fixtures/gpt2/model/tokenizer.json");
  ASSERT_TRUE(is_taken(good));
  RandomStream random(7);
  int taken = 0;
  for (int round = 0; round < 1500; ++round) taken += is_taken(damage(good, 0, good.size(), random));
  EXPECT_GT(taken, 10);
  EXPECT_LT(taken, 1450);
}

TEST(TokenizerFuzz, NoiseIsRefused) {
  RandomStream random(5);
  for (int round = 0; round < 2000; ++round) {
    std::string noise(random.below(60), '\0');
    for (char& c : noise) c = static_cast<char>(random.below(random.below(2) == 0 ? 256 : 12));
    EXPECT_FALSE(is_taken(noise));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, TokenizerFuzz,
                         ::testing::Values(TokenizerType::unigram, TokenizerType::bpe, TokenizerType::word,
                                           TokenizerType::character),
                         [](const auto& type) { return std::string(name_of(type.param)); });

// Models made by hand, each with one of the faults that the library falls for.
std::string piece(const std::string& text, int type = 1, float score = 0) {
  std::string number(4, '\0');
  std::memcpy(number.data(), &score, 4);
  return field(1, field(1, text) + "\x15" + number + "\x18" + static_cast<char>(type));
}

// A normaliser with a table of this trie and these strings.
std::string table(const std::vector<std::uint32_t>& trie, const std::string& strings) {
  std::string bytes(4 + trie.size() * 4, '\0');
  const auto size = static_cast<std::uint32_t>(trie.size() * 4);
  std::memcpy(bytes.data(), &size, 4);
  std::memcpy(bytes.data() + 4, trie.data(), size);
  return field(2, bytes + strings);
}

TEST(TokenizerCheck, NamesTheFault) {
  const auto refusal_of_model = [](const std::string& bytes) {
    return user_error_of([&] { Tokenizer::from_bytes(bytes, "m"); });
  };
  const auto refusal = [&](const std::string& pieces, const std::string& normaliser = "") {
    return refusal_of_model(pieces + field(2, "") + field(3, normaliser));
  };
  const std::string sound = piece("<unk>", 2) + piece("a") + piece("b");
  const std::string refused = "m: not a usable tokenizer: ";
  EXPECT_EQ(refusal(sound), "");
  EXPECT_EQ(refusal_of_model(sound), refused + "truncated: its options are missing");
  EXPECT_EQ(refusal(""), refused + "no pieces");
  EXPECT_EQ(refusal(piece("a")), refused + "0 unknown pieces, expected 1");
  EXPECT_EQ(refusal(sound + piece("<x>", 2)), refused + "2 unknown pieces, expected 1");
  EXPECT_EQ(refusal(sound + piece("a")), refused + "piece 3 is a duplicate");
  EXPECT_EQ(refusal(sound + piece("")), refused + "piece 3 is empty");
  EXPECT_EQ(refusal(sound + piece("\xFF")), refused + "piece 3 is not UTF-8");
  EXPECT_EQ(refusal(sound + piece(std::string("c\0d", 3))), refused + "piece 3 contains NUL");
  EXPECT_EQ(refusal(sound + piece(std::string(100'000, 'c'))), refused + "piece 3 is 100000 bytes long");
  EXPECT_EQ(refusal(sound + piece("c", 9)), refused + "piece 3 has unknown type 9");
  EXPECT_EQ(refusal(sound + piece("c", 1, std::numeric_limits<float>::quiet_NaN())),
            refused + "piece 3 has a score out of range");
  EXPECT_EQ(refusal(sound + piece("<0x41>", 6)), refused + "1 byte pieces");
  EXPECT_EQ(refusal_of_model(sound + "\x0A\x7F"), refused + "truncated, or a length points past its end");
  std::string nested = sound;
  for (std::size_t n = 1; n <= 65; ++n) nested += piece(std::string(n, 'c'), 4);
  EXPECT_EQ(refusal(nested), refused + "user-defined symbols are nested too deeply");

  // Trie: unit 0 leads to base 0; its unit 'a' (97) to base `to`, of which the first unit is the value.
  const auto trie = [](std::uint32_t to, std::uint32_t value, std::size_t size = 512) {
    std::vector<std::uint32_t> units(size, 0x80000000u);  // no label
    units[0] = 256u << 10;
    units[256 ^ 'a'] = ((256u ^ 'a' ^ to) << 10) | 1u << 8 | 'a';
    if (to < size) units[to] = value | 0x80000000u;
    return units;
  };
  EXPECT_EQ(refusal(sound, table(trie(300, 0), std::string("b\0", 2))), "");
  EXPECT_EQ(refusal(sound, table(trie(300, 2), std::string("b\0", 2))),
            refused + "a value of the normalisation table is out of range");
  EXPECT_EQ(refusal(sound, table(trie(3000, 0), std::string("b\0", 2))),
            refused + "the trie of the normalisation table points outside itself");
  EXPECT_EQ(refusal(sound, table(trie(300, 0, 500), std::string("b\0", 2))),
            refused + "the trie of the normalisation table points outside itself");
  EXPECT_EQ(refusal(sound, table(trie(300, 0), "b")),
            refused + "the strings of the normalisation table are not terminated");
  EXPECT_EQ(refusal(sound, table(trie(256, 0), std::string("b\0", 2))),
            refused + "the trie of the normalisation table has a cycle");
  EXPECT_EQ(refusal(sound, table(trie(300, 0), std::string(300, 'b') + '\0')),
            refused + "a string of the normalisation table is too long");
}

}  // namespace
}  // namespace attend
