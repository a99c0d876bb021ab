// Options of language models: what is refused, by name and with a remedy, and what is made of the others.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/language/language_options.hpp"
#include "models/layers/initialise.hpp"
#include "models/layers/weights_io.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

LanguageOptions small_language(const std::function<void(BertOptions&)>& change = {}) {
  LanguageOptions options;
  options.stack.layers = 2;
  options.stack.width = 12;
  options.stack.max_positions = 9;
  options.stack.block.heads = 3;
  options.stack.block.feed_forward = 19;
  if (change) change(options.stack);
  return options;
}

struct RefusedLanguage {
  std::string named;
  std::string remedy;
  std::function<void(BertOptions&)> change;
};

TEST(LanguageOptions, WhatContradictsItselfIsRefusedByName) {
  using enum SelfAttentionKind;
  const std::vector<RefusedLanguage> cases = {
      {"self-attention is fourier", "--self-attention attention",
       [](BertOptions& stack) { stack.block.self_attention = fourier; }},
      {"self-attention is patterns", "--self-attention attention",
       [](BertOptions& stack) { stack.block.self_attention = patterns; }},
      {"embedding-width is 6", "drop it", [](BertOptions& stack) { stack.embedding_width = 6; }},
      {"embedding-width 13", "at most the width", [](BertOptions& stack) { stack.embedding_width = 13; }},
      {"heads: 5 heads", "another number of heads", [](BertOptions& stack) { stack.block.heads = 5; }},
      {"positions is rotary", "another number of heads",
       [](BertOptions& stack) { stack.block.positions = PositionKind::rotary, stack.block.heads = 4; }},
      {"positions is rotary", "--self-attention random-attention",
       [](BertOptions& stack) {
         stack.block.positions = PositionKind::rotary, stack.block.self_attention = dense_attention;
       }},
      {"positions is rotary", "--positions learned or sinusoidal",
       [](BertOptions& stack) { stack.block.positions = PositionKind::rotary, stack.block.self_attention = uniform; }},
      {"score is dot", "--self-attention attention",
       [](BertOptions& stack) { stack.score = ScoreKind::dot, stack.block.self_attention = dense; }},
      {"projections is shared-qk", "--self-attention attention",
       [](BertOptions& stack) {
         stack.block.projections = ProjectionKind::shared_qk, stack.block.self_attention = random;
       }},
      {"activation is geglu", "--feed-forward at auto",
       [](BertOptions& stack) { stack.block.feed_forward = 0, stack.block.activation = FeedForwardKind::geglu; }},
      {"activation-dropout is given", "--feed-forward at auto",
       [](BertOptions& stack) { stack.block.feed_forward = 0, stack.block.activation_dropout = 0.1; }},
      {"norm-kind is batch", "--norm-kind layer",
       [](BertOptions& stack) { stack.share_layers = true, stack.block.norm_kind = NormKind::batch; }},
      {"initial-deviation is given", "drop one",
       [](BertOptions& stack) { stack.initial_deviation = 0.1, stack.initialiser = Initialiser::uniform; }},
  };
  for (const RefusedLanguage& refused : cases) {
    SCOPED_TRACE(refused.named);
    const std::string error = error_and_remedy_of([&] { make_language_model(small_language(refused.change), 23); });
    EXPECT_NE(error.find(refused.named), std::string::npos) << error;
    EXPECT_NE(error.find(refused.remedy, error.find(" | ")), std::string::npos) << error;
  }
}

TEST(LanguageOptions, AMemoryNeedsPositionsOfDistances) {
  const auto with = [](PositionKind positions, SelfAttentionKind self_attention) {
    LanguageOptions options = small_language();
    options.memory = 8;
    options.stack.block.positions = positions;
    options.stack.block.self_attention = self_attention;
    return options;
  };
  const auto expect_refused = [](const LanguageOptions& options, const std::string& named, const std::string& remedy) {
    const std::string error = error_and_remedy_of([&] { make_language_model(options, 23); });
    EXPECT_NE(error.find("memory is 8, but " + named), std::string::npos) << error;
    EXPECT_NE(error.find(remedy, error.find(" | ")), std::string::npos) << error;
  };
  using enum SelfAttentionKind;
  expect_refused(with(PositionKind::learned, attention), "positions is learned", "--positions transformer-xl");
  expect_refused(with(PositionKind::sinusoidal, attention), "positions is sinusoidal", "--positions transformer-xl");
  expect_refused(with(PositionKind::alibi, random), "self-attention is random", "--self-attention attention");
  for (const PositionKind positions :
       {PositionKind::none, PositionKind::relative, PositionKind::t5, PositionKind::rotary, PositionKind::alibi}) {
    EXPECT_NO_THROW(make_language_model(with(positions, attention), 23)) << name_of(positions);
  }
}

TEST(LanguageOptions, AMemoryIsNotCountedInStatisticsOfBatches) {
  LanguageOptions options = small_language();
  options.memory = 8;
  options.stack.block.positions = PositionKind::transformer_xl;
  options.stack.block.norm_kind = NormKind::batch;
  options.stack.block.norm = NormPlace::pre;
  EXPECT_EQ(
      error_and_remedy_of([&] { make_language_model(options, 23); }),
      "memory is 8, but norm-kind is batch, and with norm pre its statistics would count remembered tokens again | "
      "choose --norm-kind layer or rms, or --norm post, or drop --memory");
  options.stack.block.norm = NormPlace::post;  // every norm reads new tokens alone
  EXPECT_NO_THROW(make_language_model(options, 23));
}

// The width of the embeddings may be named as long as it is that of the output table.
TEST(LanguageOptions, AnEmbeddingWidthThatIsTheWidthIsMade) {
  EXPECT_NO_THROW(make_language_model(small_language([](BertOptions& stack) { stack.embedding_width = 12; }), 23));
}

TEST(LanguageOptions, OnlyTablesOfPositionsLimitTheLengthOfATransformer) {
  const auto longest = [](PositionKind positions, SelfAttentionKind self_attention) {
    return make_language_model(small_language([&](BertOptions& stack) {
                                 stack.block.positions = positions;
                                 stack.block.self_attention = self_attention;
                               }),
                               23)
        ->longest();
  };
  using enum SelfAttentionKind;
  for (const PositionKind positions : {PositionKind::sinusoidal, PositionKind::none, PositionKind::relative,
                                       PositionKind::t5, PositionKind::rotary, PositionKind::alibi}) {
    EXPECT_EQ(longest(positions, attention), std::nullopt) << name_of(positions);
  }
  EXPECT_EQ(longest(PositionKind::learned, attention), 9);
  EXPECT_EQ(longest(PositionKind::none, uniform), std::nullopt);
  for (const SelfAttentionKind kind : {dense, random, fixed_random, dense_attention, random_attention}) {
    EXPECT_EQ(longest(PositionKind::none, kind), 9) << name_of(kind);
  }
}

// A recurrent model has the layers and the width of the stack, and one table for what it reads and what it predicts.
TEST(LanguageOptions, ARecurrentModelIsItsTableAndItsCells) {
  struct Kind {
    LanguageCell cell;
    std::int64_t gates;
    std::size_t parts;  // of a layer's state
  };
  for (const auto& [cell, gates, parts] :
       {Kind{LanguageCell::lstm, 4, 2}, Kind{LanguageCell::gru, 3, 1}, Kind{LanguageCell::tanh, 1, 1}}) {
    SCOPED_TRACE(name_of(cell));
    LanguageOptions options = small_language();
    options.cell = cell;
    const LanguageModel model = make_language_model(options, 23);
    EXPECT_EQ(count_parameters(*model), 23 * 12 + 2 * gates * (2 * 12 * 12 + 2 * 12));
    EXPECT_EQ(model->output_table().master().sizes(), at::IntArrayRef({23, 12}));
    const std::vector<at::Tensor> beginning = model->beginning(5);
    ASSERT_EQ(beginning.size(), 2 * parts);
    for (const at::Tensor& part : beginning) EXPECT_TRUE(at::equal(part, at::zeros({5, 12})));
  }
}

TEST(LanguageOptions, AllLayersOfATransformerMayBeOneBlock) {
  const auto parameters = [](std::int64_t layers, bool share) {
    return count_parameters(*make_language_model(small_language([&](BertOptions& stack) {
                                                   stack.layers = layers;
                                                   stack.share_layers = share;
                                                 }),
                                                 23));
  };
  EXPECT_EQ(parameters(3, true), parameters(1, false));
  EXPECT_GT(parameters(3, false), parameters(3, true));
}

TEST(LanguageOptions, TheLastMatricesOfResidualBranchesBeginSmaller) {
  const auto deviation = [](bool residual, const char* name) {
    const auto model = make_language_model(small_language([&](BertOptions& stack) {
                                             stack.width = 96;
                                             stack.block.feed_forward = 96;
                                             stack.block.residual = residual;
                                           }),
                                           23);
    initialise(*model, 1);
    return model->named_parameters()[name].std().item<double>();
  };
  for (const char* name : {"decoder.layers.1.self_attn.out_proj.weight", "decoder.layers.1.linear2.weight"}) {
    EXPECT_NEAR(deviation(true, name) * 2, deviation(false, name), 1e-3) << name;
  }
  const char* const first = "decoder.layers.1.linear1.weight";
  EXPECT_NEAR(deviation(true, first), deviation(false, first), 1e-3);
}

}  // namespace
}  // namespace attend
