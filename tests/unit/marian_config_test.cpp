// config.json of Hugging Face's MarianMT for the forms of a Transformer that it has, and a refusal by name of all
// others.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "models/exchange/marian.hpp"
#include "tests/support/hf_config.hpp"

namespace attend {
namespace {

using Change = std::function<void(ModelConfig&)>;

MarianConfig marian_with(const Change& change) {
  MarianConfig config{.model = {}, .vocabulary = {.src = 30, .tgt = 30}, .ids = {.eos = 3, .pad = 0, .start = 2}};
  config.model.encoder_layers = 3;
  config.model.decoder_layers = 1;
  config.model.width = 15;
  config.model.block.heads = 3;
  config.model.block.feed_forward = 20;
  config.model.dropout = 0.2;
  change(config.model);
  return config;
}

std::string refusal_of_form(const Change& change) {
  return user_error_of([&] { check_marian_form(marian_with(change).model); });
}

TEST(MarianConfigFile, RefusesFormsThatMarianLacksByName) {
  for (const char* form : {"model = luong", "score = cosine", "positions = learned", "norm = pre", "norm-kind = rms",
                           "residual = false", "feed-forward = 0", "activation = geglu", "self-attention = uniform",
                           "self-window = 3", "projections = none", "prune-heads = 0", "attention-bias = false"}) {
    EXPECT_EQ(refusal_of_form([&](ModelConfig& model) { set_form(model, form); }),
              std::string("cannot be exported: Hugging Face's MarianMT has no form with ") + form);
  }
  EXPECT_EQ(refusal_of_form([](ModelConfig& model) {
              model.score = ScoreKind::scaled_dot;
              model.tie_embeddings = false;
              model.output_bias = true;
              model.initial_deviation = 0.1;
              model.word_dropout = 0.1;
              model.block.attention_dropout = model.block.layer_drop = 0.1;
            }),
            "");
}

using MarianConfigTest = HfConfigTest<read_marian_config>;

nlohmann::json marian_written(const Change& change) {
  return nlohmann::json::parse(to_marian_config(marian_with(change)));
}

TEST_F(MarianConfigTest, IsReadAsItWasWritten) {
  for (const auto& [kind, name] : kWrittenActivations) {
    const nlohmann::json json = marian_written([kind = kind](ModelConfig& model) {
      model.block.activation = kind;
      model.block.attention_dropout = 0.3;
    });
    EXPECT_EQ(json["activation_function"], name);
    const MarianConfig config = read(json);
    EXPECT_EQ(config.model.encoder_layers, 3);
    EXPECT_EQ(config.model.decoder_layers, 1);
    EXPECT_EQ(config.model.width, 15);
    EXPECT_EQ(config.model.block.heads, 3);
    EXPECT_EQ(config.model.block.feed_forward, 20);
    EXPECT_EQ(config.model.block.activation, kind);
    EXPECT_EQ(config.model.dropout, 0.2);
    EXPECT_EQ(config.model.block.attention_dropout, 0.3);
    EXPECT_TRUE(config.model.tie_embeddings);
    EXPECT_EQ(config.vocabulary.src, 30);
    EXPECT_EQ(config.ids.eos, 3);
    EXPECT_EQ(config.ids.pad, 0);
    EXPECT_EQ(config.ids.start, 2);
  }
  nlohmann::json older = marian_written([](ModelConfig&) {});
  older.update({{"temperature", 1.0},
                {"top_k", 50},
                {"top_p", 1.0},
                {"typical_p", 1.0},
                {"repetition_penalty", 1.0},
                {"num_beam_groups", 1},
                {"diversity_penalty", 0.0},
                {"encoder_no_repeat_ngram_size", 0},
                {"return_dict_in_generate", false},
                {"chunk_size_feed_forward", 0},
                {"cross_attention_hidden_size", nullptr}});
  EXPECT_EQ(read(older).model.encoder_layers, 3) << "fields of older versions of transformers";
  nlohmann::json untied = marian_written([](ModelConfig& model) { model.tie_embeddings = false; });
  untied["decoder_vocab_size"] = 25;
  EXPECT_EQ(read(untied).vocabulary.tgt, 25);
  EXPECT_FALSE(read(untied).model.tie_embeddings);
}

TEST_F(MarianConfigTest, AFieldThatIsNotReadIsRefusedByName) {
  const nlohmann::json usual = marian_written([](ModelConfig&) {});
  expect_refused(usual, {{"normalize_before", true},
                         {"normalize_embedding", true},
                         {"add_final_layer_norm", true},
                         {"static_position_embeddings", false},
                         {"scale_embedding", false},
                         {"tie_word_embeddings", false},
                         {"rotary", true},
                         {"decoder_ffn_dim", 21},
                         {"decoder_attention_heads", 5},
                         {"activation_function", "tanh"},
                         {"model_type", "bart"},
                         {"d_model", 1 << 30},
                         {"encoder_layers", 0},
                         {"encoder_layers", "two"},
                         {"vocab_size", -1},
                         {"pad_token_id", 30},
                         {"pad_token_id", 3},
                         {"decoder_start_token_id", 3},
                         {"eos_token_id", {0, 1}},
                         {"dropout", 2},
                         {"bad_words_ids", {{0}, {7}}}});
  nlohmann::json json = usual;
  json["d_model"] = 16;
  EXPECT_NE(refusal(json).find("encoder_attention_heads"), std::string::npos) << "3 do not divide 16";
  json = usual;
  json.erase("scale_embedding");  // false in Hugging Face
  EXPECT_NE(refusal(json).find("scale_embedding"), std::string::npos);
}

}  // namespace
}  // namespace attend
