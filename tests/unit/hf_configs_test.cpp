// config.json of Hugging Face.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/exchange/bert.hpp"
#include "models/exchange/gpt2.hpp"
#include "models/exchange/marian.hpp"
#include "tests/support/hf_config.hpp"

namespace attend {
namespace {

// config.json of Hugging Face for the forms of an encoder that its models have, and a refusal by name of all others.

using ChangeOfBert = std::function<void(StackOptions&)>;

HfConfig changed(const ChangeOfBert& change) {
  HfConfig config;
  config.vocabulary = 30;
  config.options.width = 12;
  config.options.block.heads = 3;
  change(config.options);
  return config;
}

std::string refusal(const ChangeOfBert& change) {
  return user_error_of([&] { to_hf_config(changed(change)); });
}

TEST(HfConfigFile, RefusesFormsThatTheyLackByName) {
  const std::string they = "cannot be exported: Hugging Face's encoders of this kind have no ";
  for (const char* form :
       {"positions = alibi", "positions = none", "norm = none", "norm-kind = rms", "residual = false",
        "feed-forward = 0", "activation = geglu", "activation = swiglu", "score = additive", "self-attention = uniform",
        "self-window = 3", "projections = none", "attention-bias = false", "share-layers = true"}) {
    EXPECT_EQ(refusal([&](StackOptions& bert) { set_form(bert, form); }), they + "form with " + form);
  }
  // Its language modelling head has gelu, whatever the layers have.
  EXPECT_EQ(refusal([](StackOptions& bert) {
              bert.block.norm = NormPlace::pre;
              bert.block.activation = FeedForwardKind::relu;
            }),
            they + "form with activation = relu");
  EXPECT_EQ(refusal([](StackOptions& bert) { bert.embedding_width = 6; }),
            they + "embeddings narrower than its layers");
}

using BertConfigTest = HfConfigTest<read_hf_config>;

// Sizes, dropout and initialisation are not a form, and activations keep their kind.
TEST_F(BertConfigTest, IsReadAsItWasWritten) {
  for (const auto& [kind, name] :
       std::vector<std::pair<FeedForwardKind, std::string>>{{FeedForwardKind::gelu, "gelu"},
                                                            {FeedForwardKind::gelu_tanh, "gelu_pytorch_tanh"},
                                                            {FeedForwardKind::relu, "relu"},
                                                            {FeedForwardKind::swish, "silu"}}) {
    const HfConfig written = changed([&](StackOptions& bert) {
      bert.layers = 3;
      bert.max_positions = 24;
      bert.dropout = 0.2;
      bert.initial_positions = InitialPositions::sinusoids;
      bert.initialiser = Initialiser::xavier_uniform;
      bert.block.feed_forward = 20;
      bert.block.activation = kind;
      bert.block.attention_dropout = 0.3;
    });
    const auto json = nlohmann::json::parse(to_hf_config(written));
    EXPECT_EQ(json["hidden_act"], name);
    const StackOptions options = read(json).options;
    EXPECT_EQ(options.block.activation, kind);
    EXPECT_EQ(options.block.feed_forward, 20);
    EXPECT_EQ(options.max_positions, 24);
  }
  nlohmann::json other = nlohmann::json::parse(to_hf_config(changed([](StackOptions&) {})));
  other["hidden_act"] = "swish";  // the same under another name
  EXPECT_EQ(read(other).options.block.activation, FeedForwardKind::swish);
}

TEST_F(BertConfigTest, AFieldThatIsNotReadIsRefusedByName) {
  auto usual = nlohmann::json::parse(to_hf_config(changed([](StackOptions&) {})));
  usual["pruned_heads"] = nlohmann::json::object();
  EXPECT_EQ(refusal(usual), "");
  expect_refused(usual, {{"pruned_heads", {{"0", {1}}}},
                         {"hidden_act", "quick_gelu"},
                         {"model_type", "roberta"},
                         {"position_embedding_type", "relative_key"},
                         {"layer_norm_eps", 1e-5},
                         {"type_vocab_size", 1},
                         {"tie_word_embeddings", false},
                         {"is_decoder", true},
                         {"add_cross_attention", true},
                         {"num_attention_heads", 5},
                         {"intermediate_size", 0},
                         {"pad_token_id", 30},
                         {"hidden_dropout_prob", 1}});
}

// config.json of Hugging Face's GPT-2 for the forms of a language model that it has, and a refusal by name of all
// others.

using ChangeOfLanguage = std::function<void(LanguageOptions&)>;

Gpt2Config gpt2_with(const ChangeOfLanguage& change) {
  Gpt2Config config{.options = {}, .vocabulary = 30, .eos = 3};
  StackOptions& stack = config.options.stack;
  stack.layers = 3;
  stack.width = 15;
  stack.block.heads = 3;
  stack.block.feed_forward = 20;
  stack.block.norm = NormPlace::pre;
  stack.max_positions = 40;
  stack.dropout = 0.2;
  change(config.options);
  return config;
}

std::string refusal_of_gpt2_form(const ChangeOfLanguage& change) {
  return user_error_of([&] { check_gpt2_form(gpt2_with(change).options); });
}

TEST(Gpt2ConfigFile, RefusesFormsThatGpt2LacksByName) {
  for (const char* form :
       {"cell = lstm", "norm = post", "norm = none", "norm-kind = rms", "positions = rotary", "positions = sinusoidal",
        "activation = swiglu", "feed-forward = 0", "residual = false", "attention-bias = false", "self-window = 5",
        "self-attention = dense", "projections = shared-qk", "score = cosine", "share-layers = true"}) {
    const std::string said = refusal_of_gpt2_form([&](LanguageOptions& model) { set_form(model, form); });
    EXPECT_NE(said.find(std::string("no form with ") + form), std::string::npos) << form << ": " << said;
  }
  EXPECT_EQ(refusal_of_gpt2_form([](LanguageOptions&) {}), "");
  EXPECT_EQ(refusal_of_gpt2_form([](LanguageOptions& model) {
              model.stack.shape = StackShape::tiny;
              model.stack.block.attention_dropout = 0.1;
              model.stack.initial_positions = InitialPositions::sinusoids;
            }),
            "")
      << "what only matters in training";
}

using Gpt2ConfigTest = HfConfigTest<read_gpt2_config>;

nlohmann::json gpt2_written(const ChangeOfLanguage& change) {
  return nlohmann::json::parse(to_gpt2_config(gpt2_with(change)));
}

TEST_F(Gpt2ConfigTest, IsReadAsItWasWritten) {
  for (const auto& [kind, name] : kWrittenActivations) {
    const nlohmann::json json = gpt2_written([kind = kind](LanguageOptions& model) {
      model.stack.block.activation = kind;
      model.stack.block.attention_dropout = 0.3;
      model.stack.initial_deviation = 0.03;
    });
    EXPECT_EQ(json["activation_function"], name);
    const Gpt2Config config = read(json);
    const StackOptions& stack = config.options.stack;
    EXPECT_FALSE(config.options.is_recurrent());
    EXPECT_EQ(stack.layers, 3);
    EXPECT_EQ(stack.width, 15);
    EXPECT_EQ(stack.block.heads, 3);
    EXPECT_EQ(stack.block.feed_forward, 20);
    EXPECT_EQ(stack.block.activation, kind);
    EXPECT_EQ(stack.block.norm, NormPlace::pre);
    EXPECT_EQ(stack.block.positions, PositionKind::learned);
    EXPECT_EQ(stack.max_positions, 40);
    EXPECT_EQ(stack.dropout, 0.2);
    EXPECT_EQ(stack.block.attention_dropout, 0.3);
    EXPECT_EQ(stack.initial_deviation, 0.03);
    EXPECT_EQ(config.vocabulary, 30);
    EXPECT_EQ(config.eos, 3);
  }
  nlohmann::json older = gpt2_written([](LanguageOptions&) {});
  older.update({{"n_ctx", 40}, {"n_inner", nullptr}, {"summary_type", "cls_index"}, {"reorder_and_upcast_attn", true}});
  older["task_specific_params"]["text-generation"] = {{"do_sample", true}, {"max_length", 50}};
  for (const char* key : {"activation_function", "scale_attn_weights", "tie_word_embeddings", "layer_norm_epsilon"}) {
    older.erase(key);
  }
  EXPECT_EQ(read(older).options.stack.block.feed_forward, 60) << "four times the width";
  EXPECT_EQ(read(older).options.stack.block.activation, FeedForwardKind::gelu_tanh);
  older["vocab_size"] = 50257;
  older.erase("bos_token_id");
  older.erase("eos_token_id");
  EXPECT_EQ(read(older).eos, 50256);
}

TEST_F(Gpt2ConfigTest, AFieldThatIsNotReadIsRefusedByName) {
  const nlohmann::json usual = gpt2_written([](LanguageOptions&) {});
  expect_refused(usual, {{"scale_attn_weights", false},
                         {"scale_attn_by_inverse_layer_idx", true},
                         {"tie_word_embeddings", false},
                         {"add_cross_attention", true},
                         {"layer_norm_epsilon", 1e-12},
                         {"rotary", true},
                         {"quantization_config", "int8"},
                         {"activation_function", "tanh"},
                         {"model_type", "gptj"},
                         {"n_head", 4},
                         {"n_embd", 1 << 30},
                         {"n_layer", 0},
                         {"n_layer", "two"},
                         {"n_positions", 2},
                         {"n_inner", 1 << 20},
                         {"vocab_size", -1},
                         {"eos_token_id", 30},
                         {"eos_token_id", -1},
                         {"bos_token_id", 2},
                         {"resid_pdrop", 2},
                         {"initializer_range", "x"}});
}

// config.json of Hugging Face's MarianMT for the forms of a Transformer that it has, and a refusal by name of all
// others.

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
              model.block.attention_dropout = 0.1;
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
                {"activation_dropout", 0.1},
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
  EXPECT_EQ(read(older).model.encoder_layers, 3) << "fields of older versions of transformers, and of training";
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
