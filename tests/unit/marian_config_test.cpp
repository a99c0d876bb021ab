// config.json of Hugging Face's MarianMT for the forms of a Transformer that it has, and a refusal by name of all
// others.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "models/translation/marian.hpp"
#include "tests/support/temporary.hpp"

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
  try {
    check_marian_form(marian_with(change).model);
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

TEST(MarianConfigFile, RefusesFormsThatMarianLacksByName) {
  const std::vector<std::pair<std::string, Change>> cases = {
      {"model = luong", [](ModelConfig& model) { model.model = ModelKind::luong; }},
      {"score = cosine", [](ModelConfig& model) { model.score = ScoreKind::cosine; }},
      {"positions = learned", [](ModelConfig& model) { model.block.positions = PositionKind::learned; }},
      {"norm = pre", [](ModelConfig& model) { model.block.norm = NormPlace::pre; }},
      {"norm-kind = rms", [](ModelConfig& model) { model.block.norm_kind = NormKind::rms; }},
      {"residual = false", [](ModelConfig& model) { model.block.residual = false; }},
      {"feed-forward = 0", [](ModelConfig& model) { model.block.feed_forward = 0; }},
      {"activation = geglu", [](ModelConfig& model) { model.block.activation = FeedForwardKind::geglu; }},
      {"self-attention = uniform", [](ModelConfig& model) { model.block.self_attention = SelfAttentionKind::uniform; }},
      {"self-window = 3", [](ModelConfig& model) { model.block.self_window = 3; }},
      {"projections = none", [](ModelConfig& model) { model.block.projections = ProjectionKind::none; }},
      {"attention-bias = false", [](ModelConfig& model) { model.block.attention_bias = false; }},
  };
  for (const auto& [form, change] : cases) {
    EXPECT_EQ(refusal_of_form(change), "cannot be exported: Hugging Face's MarianMT has no form with " + form);
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

class MarianConfigTest : public ::testing::Test {
 protected:
  MarianConfig read(const nlohmann::json& json) {
    write_file_atomic(directory_ / "config.json", json.dump());
    return read_marian_config(directory_ / "config.json");
  }
  std::string refusal(const nlohmann::json& json) {
    try {
      read(json);
    } catch (const UserError& error) {
      return error.what();
    }
    return "taken";
  }
  static nlohmann::json written(const Change& change) {
    return nlohmann::json::parse(to_marian_config(marian_with(change)));
  }

  TemporaryDirectory directory_;
};

TEST_F(MarianConfigTest, IsReadAsItWasWritten) {
  for (const auto& [kind, name] :
       std::vector<std::pair<FeedForwardKind, std::string>>{{FeedForwardKind::relu, "relu"},
                                                            {FeedForwardKind::swish, "swish"},
                                                            {FeedForwardKind::gelu, "gelu"},
                                                            {FeedForwardKind::gelu_tanh, "gelu_new"}}) {
    const nlohmann::json json = written([kind = kind](ModelConfig& model) {
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
  nlohmann::json older = written([](ModelConfig&) {});
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
  nlohmann::json untied = written([](ModelConfig& model) { model.tie_embeddings = false; });
  untied["decoder_vocab_size"] = 25;
  EXPECT_EQ(read(untied).vocabulary.tgt, 25);
  EXPECT_FALSE(read(untied).model.tie_embeddings);
}

TEST_F(MarianConfigTest, AFieldThatIsNotReadIsRefusedByName) {
  const nlohmann::json usual = written([](ModelConfig&) {});
  const std::vector<std::pair<std::string, nlohmann::json>> cases = {{"normalize_before", true},
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
                                                                     {"d_model", 16},
                                                                     {"d_model", 1 << 30},
                                                                     {"encoder_layers", 0},
                                                                     {"encoder_layers", "two"},
                                                                     {"vocab_size", -1},
                                                                     {"pad_token_id", 30},
                                                                     {"pad_token_id", 3},
                                                                     {"decoder_start_token_id", 3},
                                                                     {"eos_token_id", {0, 1}},
                                                                     {"dropout", 2},
                                                                     {"bad_words_ids", {{0}, {7}}}};
  for (const auto& [key, value] : cases) {
    nlohmann::json json = usual;
    json[key] = value;
    const std::string said = refusal(json), name = key == "d_model" && value == 16 ? "encoder_attention_heads" : key;
    EXPECT_NE(said.find("\"" + name + "\""), std::string::npos) << key << " = " << value << ": " << said;
  }
  nlohmann::json json = usual;
  json.erase("scale_embedding");  // false in Hugging Face
  EXPECT_NE(refusal(json).find("scale_embedding"), std::string::npos);
  EXPECT_NE(refusal(nlohmann::json::array()), "taken");
}

}  // namespace
}  // namespace attend
