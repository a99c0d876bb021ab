// What is made of the options of language models.
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

namespace attend {
namespace {

LanguageOptions small_language(const std::function<void(StackOptions&)>& change = {}) {
  LanguageOptions options;
  options.stack.layers = 2;
  options.stack.width = 12;
  options.stack.max_positions = 9;
  options.stack.block.heads = 3;
  options.stack.block.feed_forward = 19;
  if (change) change(options.stack);
  return options;
}

TEST(LanguageOptions, OnlyTablesOfPositionsLimitTheLengthOfATransformer) {
  const auto longest = [](PositionKind positions, SelfAttentionKind self_attention) {
    return make_language_model(small_language([&](StackOptions& stack) {
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
    return count_parameters(*make_language_model(small_language([&](StackOptions& stack) {
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
    const auto model = make_language_model(small_language([&](StackOptions& stack) {
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
