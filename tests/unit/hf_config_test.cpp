// config.json of Hugging Face for the forms of an encoder that its models have, and a refusal by name of all others.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/exchange/bert.hpp"
#include "tests/support/hf_config.hpp"

namespace attend {
namespace {

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
      bert.block.attention_dropout = bert.block.activation_dropout = bert.block.layer_drop = 0.3;
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

}  // namespace
}  // namespace attend
