// WordPiece through Tokenizer, beside what Hugging Face's BertTokenizer makes of the same texts
// (parity/make_fixtures_wordpiece.py), and the files that it is read from.
#include "data/tokenizer/wordpiece.hpp"

#include <gtest/gtest.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "data/tokenizer/hugging_face_vocabulary.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "data/tokenizer/tokenizer_pair.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

using nlohmann::json;

const std::vector<std::string> kSpecial = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

Tokenizer make(std::vector<std::string> pieces, const WordPieceConfig& config = {}) {
  pieces.insert(pieces.begin(), kSpecial.begin(), kSpecial.end());
  return Tokenizer::from_bytes(to_wordpiece_json(WordPiece(std::move(pieces), config, "test")));
}

const json& wordpiece_fixture() {
  static const json read = read_json(std::filesystem::path(ATTEND_SOURCE_DIR) / "tests/parity/fixtures/wordpiece.json");
  return read;
}

WordPieceConfig config_of(const json& setting) {
  const bool lower_case = setting.at("do_lower_case");
  return {.lower_case = lower_case,
          .strip_accents = setting.value("strip_accents", lower_case),
          .split_ideographs = setting.value("tokenize_chinese_chars", true)};
}

std::string utf8(std::int32_t code_point) {
  std::string text;
  append_utf8(text, code_point);
  return text;
}

TEST(WordPieceParity, GivesTheIdsAndOffsetsOfBertTokenizer) {
  const auto texts = wordpiece_fixture().at("texts").get<std::vector<std::string>>();
  for (const json& setting : wordpiece_fixture().at("settings")) {
    const WordPiece vocabulary(wordpiece_fixture().at("vocabulary"), config_of(setting), "fixture");
    const Tokenizer tokenizer = Tokenizer::from_bytes(to_wordpiece_json(vocabulary));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::vector<std::size_t> ours;
      for (const Piece& piece : tokenizer.encode_pieces(texts[i])) {
        ours.insert(ours.end(), {static_cast<std::size_t>(piece.id), piece.begin, piece.end});
        EXPECT_EQ(piece.text, tokenizer.piece(piece.id));
      }
      EXPECT_EQ(ours, setting.at("encoded").at(i).get<std::vector<std::size_t>>())
          << config_of(setting).lower_case << " " << json(texts[i]).dump(-1, ' ', true);
    }
  }
}

// What a character between a and b does, for every code point that the fixture has looked at.
TEST(WordPieceParity, KnowsEveryCodePoint) {
  for (const json& setting : wordpiece_fixture().at("settings")) {
    if (!setting.contains("classes")) continue;
    const Tokenizer tokenizer = make({"a", "b", "##b"}, config_of(setting));
    std::vector<std::pair<std::int32_t, std::int32_t>> wrong;
    std::vector<std::string> expected(0x110000);
    for (const auto& [name, ranges] : setting.at("classes").items()) {
      for (const json& range : ranges) {
        for (auto c = range[0].get<std::size_t>(); c < range[1].get<std::size_t>(); ++c) expected[c] = name;
      }
    }
    for (std::int32_t c = 0; c < 0x110000; ++c) {
      if ((c >= 0xD800 && c < 0xE000) || (c >= 0x32000 && c < 0xE0000) || (c >= 0xE0200 && c < 0x10FFF0)) continue;
      const auto ids = tokenizer.encode("a" + utf8(c) + "b");
      std::string found = ids.size() == 3 ? "apart" : "";
      if (ids.size() == 2) found = tokenizer.piece(ids[1]) == "##b" ? "gone" : "space";
      if (found == expected[static_cast<std::size_t>(c)]) continue;
      if (wrong.empty() || wrong.back().second != c) wrong.emplace_back(c, c);
      ++wrong.back().second;
    }
    for (const auto& [begin, end] : wrong) {
      ADD_FAILURE() << std::hex << begin << " to " << end - 1 << " of setting " << config_of(setting).lower_case
                    << config_of(setting).strip_accents << ": expected \"" << expected[static_cast<std::size_t>(begin)]
                    << '"';
    }
  }
}

// Every letter that is lowered or loses an accent becomes the same letters. ICU may not know those of the newest
// Unicode.
TEST(WordPieceParity, LowersAndStripsEveryCharacter) {
  for (const bool lower : {true, false}) {
    const WordPieceConfig config{.lower_case = lower, .strip_accents = !lower};
    const json& changed = wordpiece_fixture().at(lower ? "lowered" : "stripped");
    std::vector<std::string> pieces;
    for (const auto& [from, to] : changed.items()) pieces.push_back(to);
    std::sort(pieces.begin(), pieces.end());
    pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
    std::erase_if(pieces, [&](const std::string& piece) { return std::ranges::count(kSpecial, piece) > 0; });
    const Tokenizer tokenizer = make(pieces, config);
    const Tokenizer separate = make({}, config);
    std::size_t compared = 0;
    for (const auto& [from, to] : changed.items()) {
      if (u_charType(code_point_of(from)) == U_UNASSIGNED) continue;
      if (separate.encode("a" + from + "b").size() != 1) continue;  // spaces, punctuation and ideographs
      EXPECT_EQ(tokenizer.encode(from), std::vector{tokenizer.id_of(to.get<std::string>())})
          << std::hex << code_point_of(from);
      ++compared;
    }
    EXPECT_GT(compared, lower ? 1300u : 900u);
  }
}

TEST(WordPieceTest, TextNeverBecomesASpecialId) {
  const Tokenizer tokenizer = make({"[", "]", "mask", "cls", "unk"});
  std::vector<std::string> pieces;
  for (const Piece& piece : tokenizer.encode_pieces("[MASK] [CLS]")) pieces.push_back(piece.text);
  EXPECT_EQ(pieces, (std::vector<std::string>{"[", "mask", "]", "[", "cls", "]"}));
}

TEST(WordPieceTest, IsATokenizerLikeAnyOther) {
  const Tokenizer tokenizer = make({"un", "##able", "##ss", "dog", "."});
  const SpecialIds ids = tokenizer.special();
  EXPECT_EQ((std::vector{ids.pad, ids.unk, ids.bos, ids.eos, ids.cls, ids.sep, ids.mask}),
            (std::vector{0, 1, -1, -1, 2, 3, 4}));
  EXPECT_EQ(tokenizer.size(), 10);
  EXPECT_EQ(tokenizer.id_of("##able"), 6);
  EXPECT_EQ(tokenizer.id_of("cat"), ids.unk);
  EXPECT_TRUE(tokenizer.begins_word(5));
  EXPECT_TRUE(tokenizer.begins_word(ids.mask));
  EXPECT_FALSE(tokenizer.begins_word(6));
  EXPECT_EQ(tokenizer.decode(std::vector{ids.cls, 5, 6, 8, 9, ids.unk, ids.sep, ids.pad}), "unable dog . [UNK]");
  EXPECT_EQ(tokenizer.decode(std::vector{6, 7}), "##abless");
  EXPECT_THROW(tokenizer.piece(10), std::out_of_range);
  EXPECT_THROW(tokenizer.begins_word(-1), std::out_of_range);
  EXPECT_EQ(Tokenizer::from_bytes(tokenizer.bytes()).hash(), tokenizer.hash());
  EXPECT_EQ(tokenizer.encode("dog dogs ungss"), (std::vector{8, ids.unk, ids.unk}));
  EXPECT_TRUE(tokenizer.encode("\xFF\x80").empty());
  EXPECT_EQ(tokenizer.encode("d\xFFog"), std::vector{8});
  const TemporaryDirectory directory;
  write_file_atomic(directory / "t", tokenizer.bytes());
  EXPECT_EQ(Tokenizer::load(directory / "t").hash(), tokenizer.hash());
  EXPECT_THROW(TokenizerPair::from_files({(directory / "t").string()}), UserError);  // nothing begins a sentence
}

TEST(WordPieceTest, ADecodedTextIsOneLine) {
  const Tokenizer tokenizer = make({"a\nb", std::string("c\0d", 3)});
  EXPECT_EQ(tokenizer.decode(std::vector{5, 6}), "a b c d");
}

TEST(WordPieceTest, AWordMayBeTooLong) {
  const Tokenizer tokenizer = make({"a", "##a"}, {.longest_word = 3});
  EXPECT_EQ(tokenizer.encode("aaa aaaa"), (std::vector{5, 6, 6, 1}));
  EXPECT_EQ(tokenizer.encode(std::string(1 << 20, 'a')), std::vector{1});
}

TEST(WordPieceTest, ReadsDirectoriesOfHuggingFace) {
  const TemporaryDirectory directory;
  const auto write = [&](const char* name, const std::string& text) { write_file_atomic(directory / name, text); };
  const auto refusal = [&] { return user_error_of([&] { import_bert_tokenizer(directory.path()); }); };
  const std::string in = directory.path().string() + "/";
  EXPECT_EQ(refusal(), directory.path().string() + ": neither tokenizer.json nor vocab.txt");
  const std::string special = "[PAD]\n[UNK]\r\n[CLS]\n[SEP]\n[MASK]\n";
  write("vocab.txt", special + "Émile\nemile\nÉMILE\némile\n");
  const auto piece = [&] {
    const Tokenizer tokenizer = import_bert_tokenizer(directory.path());
    return tokenizer.piece(tokenizer.encode("ÉMILE").front());
  };
  EXPECT_EQ(piece(), "emile");
  write("tokenizer_config.json", R"({"do_lower_case": false, "strip_accents": null})");
  EXPECT_EQ(piece(), "ÉMILE");
  write("tokenizer_config.json", R"({"do_lower_case": true, "strip_accents": false})");
  EXPECT_EQ(piece(), "émile");
  write("tokenizer_config.json", R"({"do_lower_case": "yes"})");
  EXPECT_EQ(refusal(), in + "tokenizer_config.json: \"do_lower_case\" has the wrong type, string");
  write("tokenizer_config.json", "[]");
  EXPECT_EQ(refusal(), in + "tokenizer_config.json: not a JSON object, expected options");
  write("tokenizer_config.json", "{}");
  write("vocab.txt", "");
  EXPECT_EQ(refusal(), in + "vocab.txt: no piece [PAD] among its 0; expected [PAD], [UNK], [CLS], [SEP] and [MASK]");
  write("vocab.txt", special + "a\nb\na\n");
  EXPECT_EQ(refusal(), in + "vocab.txt: piece 7, \"a\", is piece 5 as well");
  write("vocab.txt", special + "a\n\nb\n");
  EXPECT_EQ(refusal(), in + "vocab.txt: piece 6 is empty");
  write("vocab.txt", special + "\xC3\n");
  EXPECT_EQ(refusal(), in + "vocab.txt: piece 5 is not UTF-8");
  for (const std::string& missing : kSpecial) {
    std::string others;
    for (const std::string& other : kSpecial) others += other == missing ? "" : other + "\n";
    write("vocab.txt", others);
    EXPECT_EQ(refusal().find(in + "vocab.txt: no piece " + missing + " among its 4;"), 0u) << refusal();
  }
  // tokenizer.json goes first.
  write("tokenizer.json", make({"x"}).bytes());
  EXPECT_EQ(import_bert_tokenizer(directory.path()).bytes(), make({"x"}).bytes());
}

TEST(WordPieceTest, RefusesWhatIsAnotherTokenizer) {
  const json good = json::parse(make({"a", "##b"}).bytes());
  const auto refusal = [&](const std::function<void(json&)>& change) {
    json other = good;
    change(other);
    return user_error_of([&] { Tokenizer::from_bytes(other.dump(), "t"); });
  };
  EXPECT_EQ(refusal([](json&) {}), "");
  EXPECT_EQ(refusal([](json& file) { file.erase("model"); }), "t: no object \"model\", expected one of type WordPiece");
  EXPECT_EQ(refusal([](json& file) { file["model"]["type"] = "BPE"; }),
            "t: \"model\" is of type \"BPE\", expected WordPiece");
  EXPECT_EQ(refusal([](json& file) { file["normalizer"] = nullptr; }),
            "t: no object \"normalizer\", expected one of type BertNormalizer");
  EXPECT_EQ(refusal([](json& file) { file["normalizer"]["clean_text"] = false; }),
            "t: \"clean_text\" is false, expected true");
  EXPECT_EQ(refusal([](json& file) { file["model"]["continuing_subword_prefix"] = "@@"; }),
            "t: \"continuing_subword_prefix\" is \"@@\", expected \"##\"");
  EXPECT_EQ(refusal([](json& file) { file["model"]["max_input_chars_per_word"] = -1; }),
            "t: \"max_input_chars_per_word\" is -1, expected 0 or more");
  EXPECT_EQ(refusal([](json& file) { file["model"]["vocab"]["a"] = 6; }), "t: \"a\" and \"##b\" both have the id 6");
  EXPECT_EQ(refusal([](json& file) { file["model"]["vocab"]["a"] = 7; }),
            "t: \"a\" has the id 7, expected one from 0 to 6");
  EXPECT_EQ(refusal([](json& file) { file["model"]["vocab"]["a"] = "5"; }),
            "t: \"a\" has the id \"5\", expected one from 0 to 6");
  EXPECT_EQ(refusal([](json& file) { file["added_tokens"][0]["content"] = "<user>"; }),
            "t: the added token \"<user>\", id 0, expected only [PAD], [UNK], [CLS], [SEP] and [MASK]");
  EXPECT_EQ(refusal([](json& file) { file["normalizer"].erase("strip_accents"); }), "");
  const std::string bytes = good.dump();
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_THROW(Tokenizer::from_bytes(bytes.substr(0, size)), UserError) << size;
  }
  EXPECT_THROW(Tokenizer::from_bytes("{\"\xFF\": 1}"), UserError);
  EXPECT_THROW(Tokenizer::from_bytes("{" + std::string(100'000, '[')), UserError);
  EXPECT_THROW(Tokenizer::from_bytes("{\"a\":" + std::string(100'000, '[')), UserError);
}

}  // namespace
}  // namespace attend
