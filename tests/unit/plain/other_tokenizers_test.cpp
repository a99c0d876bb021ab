// Tokenizers in the files of other programs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/random.hpp"
#include "data/tokenizer/hugging_face_vocabulary.hpp"
#include "data/tokenizer/tokenizer_json.hpp"
#include "data/tokenizer/wordpiece.hpp"
#include "tests/support/protobuf.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/tokenizer.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

// tokenizer.json out of our tokenizers. That Hugging Face's `tokenizers` makes the same of it is what
// parity/check_tokenizer_json.py finds out, with what a test here leaves in $ATTEND_TOKENIZER_JSON, a directory.

using nlohmann::json;

Tokenizer train(const TokenizerConfig& config) {
  const std::vector<std::string> words = {
      "A",      "dog",     "The",     "girls", "runs",   "running", "aaaa", "ababab", "Zwei", "Männer", "am",
      "Straße", "Mädchen", "läuft",   "ÉMILE", "ガラス", "naïve",   "ﬁn",   "x²",     "<",    ">",      "0x41",
      "mask",   "s",       "schnell", "water", "12",     ".",       ",",    "!",      "東京", "한국어"};
  std::string text;
  RandomStream random(1);
  for (std::size_t i = 0; i < 400; ++i) {
    for (std::size_t k = 0; k < 6; ++k) text += words[random.below(words.size())] + " ";
    text += "\n";
  }
  return tokenizer_of(text, config);
}

// Every type with every normalisation, or each table of normalisation once, with unigram: its 80,000 rules, which are
// read for each file, take seconds under the sanitizers and are the same for all types.
std::vector<std::pair<std::string, TokenizerConfig>> kinds(bool with_all_tables) {
  std::vector<std::pair<std::string, TokenizerConfig>> result;
  for (const auto type : {TokenizerType::unigram, TokenizerType::bpe, TokenizerType::word, TokenizerType::character}) {
    const std::string name(name_of(type));
    result.push_back({name + "_identity", {.type = type, .normalisation = Normalisation::identity}});
    if (!with_all_tables && type != TokenizerType::unigram) continue;
    result.push_back({name, {.type = type}});
    result.push_back({name + "_lower", {.type = type, .lower_case = true}});
    result.push_back({name + "_nfkc_lower", {.type = type, .normalisation = Normalisation::nfkc, .lower_case = true}});
  }
  for (const auto type : {TokenizerType::unigram, TokenizerType::bpe}) {
    const bool table = with_all_tables || type == TokenizerType::unigram;
    result.push_back({std::string(name_of(type)) + "_bytes",
                      {.type = type,
                       .byte_fallback = true,
                       .normalisation = table ? Normalisation::nfkc : Normalisation::identity}});
  }
  return result;
}

// Beside each file, what the tokenizer makes of the texts of parity/fixtures/wordpiece.json.
TEST(TokenizerJson, IsWrittenForEveryKind) {
  const char* directory = std::getenv("ATTEND_TOKENIZER_JSON");
  const auto texts =
      read_json(std::filesystem::path(ATTEND_SOURCE_DIR) / "tests/parity/fixtures/wordpiece.json").at("texts");
  for (const auto& [name, config] : kinds(directory != nullptr)) {
    const Tokenizer tokenizer = train(config);
    const std::string bytes = to_tokenizer_json(tokenizer);
    const json file = json::parse(bytes);
    EXPECT_EQ(file["added_tokens"].size(), 7u);
    EXPECT_EQ(file["added_tokens"][6]["content"], "<mask>");
    EXPECT_EQ(file["model"]["vocab"].size(), static_cast<std::size_t>(tokenizer.size())) << name;
    EXPECT_EQ(file["post_processor"]["special_tokens"]["<cls>"]["ids"], json::array({4}));
    if (directory == nullptr) continue;
    json encoded = json::array();
    for (const json& entry : texts) {
      const auto text = entry.get<std::string>();
      const auto ids = tokenizer.encode(text);
      encoded.push_back({{"text", text}, {"ids", ids}, {"decoded", tokenizer.decode(ids)}});
    }
    const std::filesystem::path to = std::filesystem::path(directory) / name;
    make_directories(to);
    write_file_atomic(to / "tokenizer.json", bytes);
    write_file_atomic(to / "tokenizer_config.json", to_tokenizer_config_json(tokenizer, 512));
    write_file_atomic(to / "encoded.json", json{{"unk", tokenizer.special().unk}, {"texts", encoded}}.dump());
  }
}

const Tokenizer& usual() {
  static const Tokenizer kTokenizer = train({});
  return kTokenizer;
}

const json& usual_file() {
  static const json kFile = json::parse(to_tokenizer_json(usual()));
  return kFile;
}

TEST(TokenizerJson, NormalisesInTheOrderOfTheModel) {
  const auto steps_of = [](const json& file) {
    std::string steps;
    for (const json& step : file["normalizer"]["normalizers"]) {
      steps += step["type"].get<std::string>() + " ";
    }
    return steps;
  };
  const std::string spaces = "Replace Replace Prepend Replace Replace ";
  EXPECT_EQ(steps_of(json::parse(to_tokenizer_json(train({.normalisation = Normalisation::identity})))), spaces);
  EXPECT_EQ(steps_of(usual_file()), "NFC Replace Precompiled Replace NFC " + spaces);
}

TEST(TokenizerJson, MergesAreOrderedByWhatTheyMake) {
  const Tokenizer tokenizer = train({.type = TokenizerType::bpe, .normalisation = Normalisation::identity});
  const json file = json::parse(to_tokenizer_json(tokenizer));
  const json& ids = file["model"]["vocab"];
  std::int32_t last = -1;
  for (const json& merge : file["model"]["merges"]) {
    const auto made = merge[0].get<std::string>() + merge[1].get<std::string>();
    ASSERT_TRUE(ids.contains(made));
    EXPECT_GE(ids[made].get<std::int32_t>(), last);  // the trainer numbers them as it makes them
    last = ids[made];
  }
  EXPECT_GT(last, tokenizer.special().mask);
}

TEST(TokenizerJson, PiecesThatNoTextBecomesAreNeverTaken) {
  const Tokenizer tokenizer = train({.byte_fallback = true, .normalisation = Normalisation::identity});
  const json file = json::parse(to_tokenizer_json(tokenizer));
  const auto score = [&](const char* piece) {
    return file["model"]["vocab"][static_cast<std::size_t>(tokenizer.id_of(piece))][1].get<double>();
  };
  EXPECT_EQ(file["model"]["byte_fallback"], true);
  EXPECT_LT(score("<0x41>"), -1e5);
  EXPECT_LT(score("<mask>"), -1e5);
  EXPECT_GT(score("<"), -1e3);
}

TEST(TokenizerJson, NamesTheSpecialPieces) {
  const json config = json::parse(to_tokenizer_config_json(usual(), 128));
  EXPECT_EQ(config["tokenizer_class"], "PreTrainedTokenizerFast");
  EXPECT_EQ(config["model_max_length"], 128);
  EXPECT_EQ(config["mask_token"], "<mask>");
  const std::vector<std::string> pieces = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"};
  const Tokenizer wordpiece = Tokenizer::from_bytes(to_wordpiece_json(WordPiece(pieces, {}, "test")));
  EXPECT_EQ(to_tokenizer_json(wordpiece), wordpiece.bytes());
  EXPECT_FALSE(json::parse(to_tokenizer_config_json(wordpiece, 128)).contains("bos_token"));
}

// For a language model, a text follows the end of the one before it, and a pair is one text.
TEST(TokenizerJson, OfALanguageModel) {
  json file = json::parse(to_tokenizer_json(usual(), TextsFor::language_model));
  const json end = {{"SpecialToken", {{"id", "</s>"}, {"type_id", 0}}}};
  EXPECT_EQ(file["post_processor"]["single"], json::array({end, {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}));
  EXPECT_EQ(file["post_processor"]["special_tokens"]["</s>"]["ids"], json::array({usual().special().eos}));
  file["post_processor"] = usual_file()["post_processor"];
  EXPECT_EQ(file, usual_file()) << "all else is the same";
  const auto inputs = [&](TextsFor use) {
    return json::parse(to_tokenizer_config_json(usual(), 128, use))["model_input_names"].dump();
  };
  EXPECT_NE(inputs(TextsFor::encoder).find("token_type_ids"), std::string::npos);
  EXPECT_EQ(inputs(TextsFor::language_model).find("token_type_ids"), std::string::npos);
}

TEST(TokenizerJson, RefusesWhatItCannotSay) {
  const auto piece = [](const std::string& text, char type) { return field(1, field(1, text) + "\x18" + type); };
  const auto refusal = [&](const std::string& pieces, const std::string& trainer = "") -> std::string {
    return user_error_of([&] {
      to_tokenizer_json(Tokenizer::from_bytes(piece("<unk>", 2) + pieces + field(2, trainer) + field(3, "")));
    });
  };
  const std::string refused = "this tokenizer cannot be written as tokenizer.json: ";
  EXPECT_EQ(refusal(piece("a", 1)), "");
  EXPECT_EQ(refusal(piece("a", 4)), refused + "the user-defined piece \"a\"");
  EXPECT_EQ(refusal(piece("a", 5)), refused + "the unused piece \"a\"");
  EXPECT_EQ(refusal(piece("a", 1), "\xC0\x01\x01"),
            refused + "its words end with a space instead of starting with one");
}

// The tokenizers of a MarianMT directory: ids of vocab.json, segmentation of the SentencePiece models.

class MarianVocabulary : public ::testing::TestWithParam<TokenizerType> {
 protected:
  MarianVocabulary()
      : source_(trained("the dog sees\na house\ndogs see the houses\n")),
        target_(trained("der Hund sieht\nein Haus\nHunde sehen das Haus\n")) {
    write_file_atomic(directory_ / kMarianSource, source_.bytes());
    write_file_atomic(directory_ / kMarianTarget, target_.bytes());
    std::vector<std::string> pieces = {"</s>", "<unk>", ">>deu<<"};
    for (const Tokenizer* tokenizer : {&target_, &source_}) {
      for (std::int32_t id = 7; id < tokenizer->size(); ++id) pieces.push_back(tokenizer->piece(id));
    }
    pieces.emplace_back("<pad>");
    for (const std::string& piece : pieces) ids_.emplace(piece, ids_.size());
    write_vocabulary();
  }

  static Tokenizer trained(const std::string& text) {
    return tokenizer_of(text, {.type = GetParam(), .normalisation = Normalisation::identity});
  }
  void write_vocabulary() { write_file_atomic(directory_ / kMarianVocabulary, ids_.dump()); }
  MarianTokenizers read() const {
    const auto size = static_cast<std::int32_t>(ids_.size());
    return import_marian_tokenizers(directory_.path(), {.eos = 0, .pad = size - 1, .start = size - 1});
  }
  std::string refusal() const {
    return user_error_of([&] { read(); });
  }
  void expect_refusal(const std::string& part) const {
    EXPECT_NE(refusal().find(part), std::string::npos) << "expected " << part << " in: " << refusal();
  }
  static std::vector<std::string> pieces_of(const Tokenizer& tokenizer, const std::string& text) {
    std::vector<std::string> pieces;
    for (const std::int32_t id : tokenizer.encode(text)) pieces.push_back(tokenizer.piece(id));
    return pieces;
  }

  TemporaryDirectory directory_;
  Tokenizer source_, target_;
  nlohmann::json ids_ = nlohmann::json::object();
};

TEST_P(MarianVocabulary, GivesIdsAndKeepsSegmentations) {
  const MarianTokenizers read_ones = read();
  const Tokenizer &src = read_ones.pair.src, &tgt = read_ones.pair.tgt;
  ASSERT_EQ(src.size(), static_cast<std::int32_t>(ids_.size()));
  EXPECT_EQ(read_ones.src_vocabulary, src.size());
  EXPECT_TRUE(have_same_vocabulary(read_ones.pair));
  for (const auto& [side, before, text] :
       {std::tuple(&src, &source_, "the dogs see a dog"), {&tgt, &target_, "das Haus sieht ein Hund"}}) {
    EXPECT_EQ(pieces_of(*side, text), pieces_of(*before, text));
    EXPECT_EQ(side->decode(side->encode(text)), text);
    for (const std::int32_t id : side->encode(text)) {
      EXPECT_EQ(ids_[side->piece(id)], id);
    }
    EXPECT_EQ(side->special().eos, 0);
    EXPECT_EQ(side->special().unk, 1);
    EXPECT_EQ(side->special().pad, side->size() - 1);
    EXPECT_EQ(side->special().bos, side->size() - 1);
  }
}

TEST_P(MarianVocabulary, ALanguageCodeIsOnePiece) {
  const Tokenizer src = read().pair.src;
  std::vector<std::int32_t> ids = src.encode(">>deu<< the dog");
  ASSERT_FALSE(ids.empty());
  EXPECT_EQ(ids.front(), 2);
  ids.erase(ids.begin());
  EXPECT_EQ(ids, src.encode("the dog"));
}

TEST_P(MarianVocabulary, APieceThatItLacksComesAfterIt) {
  const std::vector<std::int32_t> used = source_.encode("the dog");
  const std::string lacking = source_.piece(used.front());
  nlohmann::json fewer = nlohmann::json::object();
  const std::int32_t gone = ids_[lacking];
  for (const auto& [piece, id] : ids_.items()) {
    const auto number = id.get<std::int32_t>();
    if (number != gone) fewer[piece] = number > gone ? number - 1 : number;
  }
  ids_ = fewer;
  write_vocabulary();
  const MarianTokenizers found = read();
  EXPECT_EQ(found.pair.src.size(), found.src_vocabulary + 1);
  EXPECT_EQ(found.pair.src.piece(found.src_vocabulary), lacking);
  EXPECT_EQ(pieces_of(found.pair.src, "the dog"), pieces_of(source_, "the dog"));
}

TEST_P(MarianVocabulary, IsReadAsItWasWritten) {
  const TokenizerPair pair = read().pair;
  const TemporaryDirectory copy;
  EXPECT_EQ(export_marian_tokenizers(pair, copy.path()).ids.start, pair.tgt.special().pad);
  EXPECT_EQ(nlohmann::json::parse(read_file(copy / kMarianVocabulary)), ids_);
  EXPECT_FALSE(std::filesystem::exists(copy / kMarianTargetVocabulary));
  const std::int32_t last = pair.tgt.size() - 1;
  EXPECT_EQ(import_marian_tokenizers(copy.path(), {.eos = 0, .pad = last, .start = last}).pair, pair);
}

TEST_P(MarianVocabulary, WhatDoesNotFitIsRefused) {
  const nlohmann::json usual = ids_;
  const auto with = [&](const std::string& piece, const nlohmann::json& id) {
    ids_ = usual;
    ids_[piece] = id;
    write_vocabulary();
  };
  with("<unk>", 2);
  expect_refusal("both have the id 2");
  with("more", usual.size() + 1);  // a gap
  expect_refusal("\"more\" has the id " + std::to_string(usual.size() + 1));
  with("more", -1);
  expect_refusal("\"more\" has the id -1");
  with("more", "x");
  expect_refusal("vocab.json");
  ids_ = {{"</s>", 0}, {"<unk>", 1}, {"<pad>", 2}};  // of another model
  write_vocabulary();
  expect_refusal("of its pieces, but has only 3");
  for (const char* text : {"[]", "{}", "{\"a\": 0, \"a\": 1}", "{"}) {
    write_file_atomic(directory_ / kMarianVocabulary, text);
    expect_refusal("vocab.json");
  }
  ids_ = usual;
  write_vocabulary();
  for (const char* file : {kMarianSource, kMarianTarget, kMarianVocabulary}) {
    const std::string bytes = read_file(directory_ / file);
    std::filesystem::remove(directory_ / file);
    expect_refusal(std::string(file) + " is missing");
    write_file_atomic(directory_ / file, bytes.substr(0, bytes.size() / 2));
    expect_refusal(file);
    write_file_atomic(directory_ / file, bytes);
  }
  EXPECT_THROW(import_marian_tokenizers(directory_.path(), {.eos = 0, .pad = 100'000, .start = 0}), UserError);
}

// Damaged at random, they are refused or usable; nothing else happens.
TEST_P(MarianVocabulary, DamagedFilesAreRefusedOrUsable) {
  RandomStream random(5);
  const std::vector<const char*> files = {kMarianSource, kMarianTarget, kMarianVocabulary};
  for (int round = 0; round < 100; ++round) {
    const auto file = directory_ / files[random.below(files.size())];
    const std::string bytes = read_file(file);
    std::string damaged = bytes;
    for (int edit = 0; edit < 2; ++edit) damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    write_file_atomic(file, damaged);
    try {
      const TokenizerPair pair = read().pair;
      pair.tgt.decode(pair.tgt.encode("das Haus >>deu<< \xFF"));
    } catch (const UserError&) {
    }
    write_file_atomic(file, bytes);
  }
  EXPECT_EQ(refusal(), "");
}

INSTANTIATE_TEST_SUITE_P(Types, MarianVocabulary,
                         testing::Values(TokenizerType::unigram, TokenizerType::bpe, TokenizerType::character),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

}  // namespace
}  // namespace attend
