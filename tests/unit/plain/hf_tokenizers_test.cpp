// The tokenizers of BERT and GPT-2.
#include <gtest/gtest.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"
#include "data/tokenizer/byte_level_bpe.hpp"
#include "data/tokenizer/hugging_face_vocabulary.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "data/tokenizer/tokenizer_json.hpp"
#include "data/tokenizer/wordpiece.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

// WordPiece through Tokenizer, beside what Hugging Face's BertTokenizer makes of the same texts
// (parity/make_fixtures_wordpiece.py), and the files that it is read from.

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

// A value at a place in a tokenizer.json, and how the file is refused with it; an empty message if it is not.
struct Change {
  std::string place;
  json value;
  std::string message;
};

void expect_refusals(const json& usual, const std::vector<Change>& changes) {
  for (const auto& [place, value, message] : changes) {
    json file = usual;
    file[json::json_pointer(place)] = value;
    EXPECT_EQ(user_error_of([&] { Tokenizer::from_bytes(file.dump(), "t"); }), message.empty() ? "" : "t: " + message)
        << place;
  }
}

TEST(WordPieceTest, RefusesWhatIsAnotherTokenizer) {
  const json good = json::parse(make({"a", "##b"}).bytes());
  expect_refusals(
      good, {{"", good, ""},
             {"/model", nullptr, "no object \"model\", expected one of type WordPiece"},
             {"/model/type", "BPE", "\"model\" is of type \"BPE\", expected WordPiece"},
             {"/normalizer", nullptr, "no object \"normalizer\", expected one of type BertNormalizer"},
             {"/normalizer/clean_text", false, "\"clean_text\" is false, expected true"},
             {"/model/continuing_subword_prefix", "@@", "\"continuing_subword_prefix\" is \"@@\", expected \"##\""},
             {"/model/max_input_chars_per_word", -1, "\"max_input_chars_per_word\" is -1, expected 0 or more"},
             {"/model/vocab/a", 6, "\"a\" and \"##b\" both have the id 6"},
             {"/model/vocab/a", 7, "\"a\" has the id 7, expected one from 0 to 6"},
             {"/model/vocab/a", "5", "\"a\" has the id \"5\", expected one from 0 to 6"},
             {"/added_tokens/0/content", "<user>",
              "the added token \"<user>\", id 0, expected only [PAD], [UNK], [CLS], [SEP] and [MASK]"}});
  json without = good;
  without["normalizer"].erase("strip_accents");
  expect_refusals(without, {{"", without, ""}});
  const std::string bytes = good.dump();
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_THROW(Tokenizer::from_bytes(bytes.substr(0, size)), UserError) << size;
  }
  EXPECT_THROW(Tokenizer::from_bytes("{\"\xFF\": 1}"), UserError);
  EXPECT_THROW(Tokenizer::from_bytes("{" + std::string(100'000, '[')), UserError);
  EXPECT_THROW(Tokenizer::from_bytes("{\"a\":" + std::string(100'000, '[')), UserError);
}

// Byte-level BPE through Tokenizer, beside what Hugging Face's `tokenizers` makes of the same texts
// (parity/make_fixtures_gpt2.py), and the files that it is read from.

const std::filesystem::path kGpt2Fixtures =
    std::filesystem::path(ATTEND_SOURCE_DIR) / "tests" / "parity" / "fixtures" / "gpt2";

const json& gpt2_recorded() {
  static const json read = read_json(kGpt2Fixtures / "recorded.json");
  return read;
}

json gpt2_file() { return read_json(kGpt2Fixtures / "model" / "tokenizer.json"); }

Tokenizer gpt2_tokenizer() { return Tokenizer::load(kGpt2Fixtures / "model" / "tokenizer.json"); }

TEST(ByteLevelBpeParity, GivesTheIdsOfEveryText) {
  json file = gpt2_file();
  file["pre_tokenizer"]["add_prefix_space"] = true;
  const Tokenizer usual = gpt2_tokenizer(), after_space = Tokenizer::from_bytes(file.dump());
  ASSERT_GT(gpt2_recorded()["texts"].size(), 60u);
  for (const json& one : gpt2_recorded()["texts"]) {
    const auto text = one["text"].get<std::string>();
    EXPECT_EQ(usual.encode(text), one["ids"].get<std::vector<std::int32_t>>()) << one["text"];
    EXPECT_EQ(after_space.encode(text), one["after_space"].get<std::vector<std::int32_t>>()) << one["text"];
  }
}

TEST(ByteLevelBpeParity, DecodesIdsOfAnyBytes) {
  const Tokenizer tokenizer = gpt2_tokenizer();
  for (const json& one : gpt2_recorded()["decoded"]) {
    EXPECT_EQ(tokenizer.decode(one["ids"].get<std::vector<std::int32_t>>()),
              as_one_line(one["text"].get<std::string>()))
        << one["ids"];
  }
}

TEST(ByteLevelBpeTest, RestoresEveryText) {
  const Tokenizer tokenizer = gpt2_tokenizer();
  for (const json& one : gpt2_recorded()["texts"]) {
    const auto text = one["text"].get<std::string>();
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), as_one_line(text)) << one["text"];
  }
}

TEST(ByteLevelBpeTest, PiecesCoverTheTextAndSplitNoCharacter) {
  const Tokenizer tokenizer = gpt2_tokenizer();
  const std::string text = "the 東\xFF house";
  std::size_t end = 0;
  bool some_without_width = false;
  for (const Piece& piece : tokenizer.encode_pieces(text)) {
    EXPECT_EQ(piece.begin, end);
    EXPECT_EQ(piece.text, tokenizer.piece(piece.id));
    EXPECT_NE(static_cast<unsigned char>(text[piece.begin]) & 0xC0, 0x80) << piece.begin;
    some_without_width |= piece.begin == piece.end;
    end = piece.end;
  }
  EXPECT_EQ(end, text.size());
  EXPECT_TRUE(some_without_width);
}

TEST(ByteLevelBpeTest, IsATokenizerLikeAnyOther) {
  const Tokenizer tokenizer = gpt2_tokenizer();
  const SpecialIds ids = tokenizer.special();
  EXPECT_EQ((std::vector{ids.pad, ids.unk, ids.bos, ids.eos, ids.cls, ids.sep, ids.mask}),
            (std::vector{-1, -1, 0, 0, -1, -1, -1}));
  EXPECT_EQ(tokenizer.size(), 300);
  EXPECT_EQ(tokenizer.piece(tokenizer.id_of("Ġthe")), "Ġthe");
  EXPECT_EQ(tokenizer.id_of("nowhere"), -1);
  EXPECT_TRUE(tokenizer.begins_word(tokenizer.id_of("Ġthe")));
  EXPECT_TRUE(tokenizer.begins_word(tokenizer.id_of("Ċ")));
  EXPECT_TRUE(tokenizer.begins_word(ids.eos));
  EXPECT_FALSE(tokenizer.begins_word(tokenizer.id_of("he")));
  EXPECT_EQ(tokenizer.decode(std::vector{ids.eos, tokenizer.id_of("he"), tokenizer.id_of("Ċ"), ids.eos}), "he ");
  EXPECT_EQ(tokenizer.encode("\xFF"), tokenizer.encode("\uFFFD"));
  EXPECT_EQ(to_tokenizer_json(tokenizer, TextsFor::language_model), tokenizer.bytes());
  for (const std::int32_t id : tokenizer.encode(std::string(kEndOfText))) EXPECT_NE(id, ids.eos);
}

// A merge of low rank goes first even where another pair stands before it; overlapping ones are merged from the left;
// and a long word takes no more than a moment.
TEST(ByteLevelBpeTest, MergesByRank) {
  json file = gpt2_file();
  const auto with_merges = [&](const std::vector<std::string>& merges, const std::vector<std::string>& results) {
    json& vocabulary = file["model"]["vocab"];
    std::erase_if(vocabulary.get_ref<json::object_t&>(), [](const auto& entry) { return entry.second > 256; });
    for (const std::string& piece : results) vocabulary[piece] = vocabulary.size();
    file["model"]["merges"] = merges;
    return Tokenizer::from_bytes(file.dump());
  };
  const Tokenizer tokenizer = with_merges({"b c", "a b", "a a", "aa aa"}, {"bc", "ab", "aa", "aaaa"});
  const auto pieces = [&](const std::string& text) {
    std::string joined;
    for (const Piece& piece : tokenizer.encode_pieces(text)) joined += (joined.empty() ? "" : " ") + piece.text;
    return joined;
  };
  EXPECT_EQ(pieces("abc"), "a bc");
  EXPECT_EQ(pieces("aaab"), "aa ab");
  EXPECT_EQ(pieces("aaaaa"), "aaaa a");
  EXPECT_EQ(tokenizer.encode(std::string(1 << 20, 'a')).size(), 1u << 18);
}

TEST(ByteLevelBpeTest, RefusesWhatIsAnotherTokenizer) {
  const json good = gpt2_file();
  const json& ids = good["model"]["vocab"];
  json without_q = ids;
  without_q["qqq"] = ids["q"];
  without_q.erase("q");
  expect_refusals(
      good,
      {{"", good, ""},
       {"/model/type", nullptr, ""},  // files of older versions have no type
       {"/model/type", "Unigram", "\"type\" is \"Unigram\", expected \"BPE\""},
       {"/model/dropout", 0.1, "\"dropout\" is 0.1, expected null"},
       {"/model/end_of_word_suffix", "</w>", "\"end_of_word_suffix\" is \"</w>\", expected \"\""},
       {"/model/continuing_subword_prefix", "##", "\"continuing_subword_prefix\" is \"##\", expected \"\""},
       {"/model/byte_fallback", true, "\"byte_fallback\" is true, expected false"},
       {"/model/ignore_merges", true, "\"ignore_merges\" is true, expected false"},
       {"/model/merges", 1, "\"merges\" is not an array"},
       {"/model/merges", json::array({"h e x"}), "the merge \"h e x\", expected two pieces with a space between them"},
       {"/model/merges", json::array({json::array({"h", 1})}),
        "the merge [\"h\",1], expected two pieces with a space between them"},
       {"/model/merges", json::array({"h nowhere"}), "merge 0 of \"h\" and \"nowhere\" needs a piece \"nowhere\""},
       {"/model/merges", json::array({"h e", "q q"}), "merge 1 of \"q\" and \"q\" needs a piece \"qq\""},
       {"/model/merges", json::array({"h e", "h e"}), "merge 1 of \"h\" and \"e\" is given twice"},
       {"/model/vocab", json::array({"a", "b"}), "no object \"vocab\" in \"model\", expected pieces with their ids"},
       {"/model/vocab", without_q, "no piece \"q\" for the byte 113"},
       {"/model/vocab/he", ids["Ġthe"], "\"Ġthe\" and \"he\" both have the id " + ids["Ġthe"].dump()},
       {"/model/vocab/he", 300, "\"he\" has the id 300, expected one from 0 to 299"},
       {"/model/vocab/東", 300, "piece 300, \"東\", does not consist of bytes"},
       {"/model/vocab/", 300, "piece 300, \"\", does not consist of bytes"},
       {"/normalizer", {{"type", "NFC"}}, "\"normalizer\" is {\"type\":\"NFC\"}, expected null"},
       {"/pre_tokenizer/type", "Metaspace", "\"pre_tokenizer\" is of type \"Metaspace\", expected ByteLevel"},
       {"/pre_tokenizer/use_regex", false, "\"use_regex\" is false, expected true"},
       {"/added_tokens/-", {{"id", 300}, {"content", "[PAD] 東"}, {"special", true}}, ""},
       {"/added_tokens/-",
        {{"id", 300}, {"content", "<user>"}, {"special", false}},
        "the added token \"<user>\" is not special, expected special ones only"},
       {"/added_tokens/-",
        {{"id", 7}, {"content", "he"}, {"special", true}},
        "the added token \"he\" has the id 7, but in the vocabulary " + ids["he"].dump()},
       {"/added_tokens/-",
        {{"id", 301}, {"content", "[PAD]"}, {"special", true}},
        "\"[PAD]\" has the id 301, expected one from 0 to 300"},
       {"/added_tokens/-", 1, "an added token is not an object"}});
}

TEST(ByteLevelBpeTest, ReadsDirectoriesOfHuggingFace) {
  const TemporaryDirectory directory;
  const auto refusal = [&] { return user_error_of([&] { import_gpt2_tokenizer(directory.path()); }); };
  const std::string where = directory.path().string();
  EXPECT_EQ(refusal(), where + ": neither tokenizer.json nor vocab.json with merges.txt");
  std::filesystem::copy(kGpt2Fixtures / "vocab.json", directory / "vocab.json");
  EXPECT_EQ(refusal(), where + ": neither tokenizer.json nor vocab.json with merges.txt");
  write_file_atomic(directory / "merges.txt", "#version: 0.2\nt h\n\xff h\n");
  EXPECT_EQ(refusal(), where + "/merges.txt:3: not UTF-8");
  std::filesystem::copy(kGpt2Fixtures / "merges.txt", directory / "merges.txt",
                        std::filesystem::copy_options::overwrite_existing);
  const auto ids = [&] { return import_gpt2_tokenizer(directory.path()).encode("the house"); };
  const Tokenizer older = import_gpt2_tokenizer(directory.path());
  EXPECT_EQ(older.special().eos, 0);
  EXPECT_EQ(Tokenizer::from_bytes(older.bytes()).encode("the house"), gpt2_tokenizer().encode("the house"));
  EXPECT_EQ(ids(), gpt2_tokenizer().encode("the house"));
  write_file_atomic(directory / "tokenizer_config.json", R"({"add_prefix_space": true})");
  EXPECT_EQ(ids(), gpt2_tokenizer().encode(" the house"));
  write_file_atomic(directory / "tokenizer_config.json", R"({"add_prefix_space": "yes"})");
  EXPECT_EQ(refusal(), where + "/tokenizer_config.json: \"add_prefix_space\" has the wrong type, string");
  write_file_atomic(directory / "tokenizer_config.json", R"({"add_prefix_space": null})");
  EXPECT_EQ(refusal(), "");
  write_file_atomic(directory / "vocab.json", "[]");
  EXPECT_EQ(refusal(), where + "/vocab.json: not an object, expected pieces with their ids");
  std::filesystem::copy(kGpt2Fixtures / "model" / "tokenizer.json", directory / "tokenizer.json");
  EXPECT_EQ(import_gpt2_tokenizer(directory.path()).bytes(), gpt2_tokenizer().bytes());
}

}  // namespace
}  // namespace attend
