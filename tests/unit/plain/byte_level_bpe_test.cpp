// Byte-level BPE through Tokenizer, beside what Hugging Face's `tokenizers` makes of the same texts
// (parity/make_fixtures_gpt2.py), and the files that it is read from.
#include "data/tokenizer/byte_level_bpe.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/json.hpp"
#include "data/text/lines.hpp"
#include "data/tokenizer/hugging_face_vocabulary.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "data/tokenizer/tokenizer_json.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

using nlohmann::json;

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
  const auto refusal = [&](const std::function<void(json&)>& change) {
    json file = gpt2_file();
    change(file);
    return user_error_of([&] { Tokenizer::from_bytes(file.dump(), "t"); });
  };
  const auto model = [&](const char* key, const json& value) {
    return refusal([&](json& file) { file["model"][key] = value; });
  };
  EXPECT_EQ(refusal([](json&) {}), "");
  EXPECT_EQ(model("type", nullptr), "") << "files of older versions have no type";
  EXPECT_EQ(model("type", "Unigram"), "t: \"type\" is \"Unigram\", expected \"BPE\"");
  EXPECT_EQ(model("dropout", 0.1), "t: \"dropout\" is 0.1, expected null");
  EXPECT_EQ(model("end_of_word_suffix", "</w>"), "t: \"end_of_word_suffix\" is \"</w>\", expected \"\"");
  EXPECT_EQ(model("continuing_subword_prefix", "##"), "t: \"continuing_subword_prefix\" is \"##\", expected \"\"");
  EXPECT_EQ(model("byte_fallback", true), "t: \"byte_fallback\" is true, expected false");
  EXPECT_EQ(model("ignore_merges", true), "t: \"ignore_merges\" is true, expected false");
  EXPECT_EQ(model("merges", 1), "t: \"merges\" is not an array");
  EXPECT_EQ(model("merges", json::array({"h e x"})),
            "t: the merge \"h e x\", expected two pieces with a space between them");
  EXPECT_EQ(model("merges", json::array({json::array({"h", 1})})),
            "t: the merge [\"h\",1], expected two pieces with a space between them");
  EXPECT_EQ(model("merges", json::array({"h nowhere"})),
            "t: merge 0 of \"h\" and \"nowhere\" needs a piece \"nowhere\"");
  EXPECT_EQ(model("merges", json::array({"h e", "q q"})), "t: merge 1 of \"q\" and \"q\" needs a piece \"qq\"");
  EXPECT_EQ(model("merges", json::array({"h e", "h e"})), "t: merge 1 of \"h\" and \"e\" is given twice");
  EXPECT_EQ(model("vocab", json::array({"a", "b"})),
            "t: no object \"vocab\" in \"model\", expected pieces with their ids");
  const auto vocabulary = [&](const std::function<void(json&)>& change) {
    return refusal([&](json& file) { change(file["model"]["vocab"]); });
  };
  EXPECT_EQ(vocabulary([](json& ids) { ids["he"] = ids["Ġthe"]; }).find("t: \"Ġthe\" and \"he\" both have the id"), 0u);
  EXPECT_EQ(vocabulary([](json& ids) { ids["he"] = 300; }), "t: \"he\" has the id 300, expected one from 0 to 299");
  EXPECT_EQ(vocabulary([](json& ids) { ids["東"] = 300; }), "t: piece 300, \"東\", does not consist of bytes");
  EXPECT_EQ(vocabulary([](json& ids) { ids[""] = 300; }), "t: piece 300, \"\", does not consist of bytes");
  EXPECT_EQ(vocabulary([](json& ids) {
              ids["qqq"] = ids["q"];
              ids.erase("q");
            }),
            "t: no piece \"q\" for the byte 113");
  EXPECT_EQ(refusal([](json& file) {
              file["normalizer"] = {{"type", "NFC"}};
            }),
            "t: \"normalizer\" is {\"type\":\"NFC\"}, expected null");
  EXPECT_EQ(refusal([](json& file) { file["pre_tokenizer"]["type"] = "Metaspace"; }),
            "t: \"pre_tokenizer\" is of type \"Metaspace\", expected ByteLevel");
  EXPECT_EQ(refusal([](json& file) { file["pre_tokenizer"]["use_regex"] = false; }),
            "t: \"use_regex\" is false, expected true");
  const auto added = [&](const json& token) {
    return refusal([&](json& file) { file["added_tokens"].push_back(token); });
  };
  EXPECT_EQ(added({{"id", 300}, {"content", "[PAD] 東"}, {"special", true}}), "");
  EXPECT_EQ(added({{"id", 300}, {"content", "<user>"}, {"special", false}}),
            "t: the added token \"<user>\" is not special, expected special ones only");
  EXPECT_EQ(
      added({{"id", 7}, {"content", "he"}, {"special", true}}).find("t: the added token \"he\" has the id 7, but"), 0u);
  EXPECT_EQ(added({{"id", 301}, {"content", "[PAD]"}, {"special", true}}),
            "t: \"[PAD]\" has the id 301, expected one from 0 to 300");
  EXPECT_EQ(added(1), "t: an added token is not an object");
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
