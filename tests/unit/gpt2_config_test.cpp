// config.json of Hugging Face's GPT-2 for the forms of a language model that it has, and a refusal by name of all
// others.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "models/exchange/gpt2.hpp"
#include "tests/support/hf_config.hpp"

namespace attend {
namespace {

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
              model.stack.block.layer_drop = 0.1;
              model.stack.block.activation_dropout = 0.1;
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

}  // namespace
}  // namespace attend
