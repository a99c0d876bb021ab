// The tokenizers of a MarianMT directory: ids of vocab.json, segmentation of the SentencePiece models.
#include "data/tokenizer/hugging_face_vocabulary.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/random.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/tokenizer.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

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
  export_marian_tokenizers(pair, pair.tgt.special().pad, copy.path());
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
