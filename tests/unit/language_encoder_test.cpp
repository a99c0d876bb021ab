// A language model below the head of a task: the states that it has in its own run, read from left to right.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "models/language/language_options.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "models/text/text_model.hpp"

namespace attend {
namespace {

class LanguageEncoder : public testing::TestWithParam<LanguageCell> {
 protected:
  LanguageEncoder() : model_(options(), LabelledTask{.labels = {"x", "y"}}, 31) { initialise(*model_, 3); }

  static TextModelOptions options() {
    TextModelOptions options{.model = TextEncoderKind::language,
                             .cell = GetParam(),
                             .encoder = {.layers = 2, .width = 12, .max_positions = 16, .dropout = 0}};
    options.encoder.block.heads = 2;
    options.encoder.block.attention_dropout = 0;
    options.encoder.block.norm = NormPlace::pre;
    return options;
  }

  static SegmentedSequences texts(const std::vector<std::vector<std::int64_t>>& sentences) {
    SegmentedSequences input;
    std::vector<std::int64_t> ids;
    for (const auto& sentence : sentences) {
      ids.insert(ids.end(), sentence.begin(), sentence.end());
      input.tokens.layout.append(std::ssize(sentence));
    }
    input.tokens.ids_M = torch::tensor(ids, torch::kLong);
    input.segments_M = torch::zeros_like(input.tokens.ids_M);
    return input;
  }

  Encoded read(const SegmentedSequences& input, const std::optional<Selection>& selected = {}) const {
    const torch::NoGradGuard no_grad;
    Pass pass = Pass::inference();
    return model_->encoder().forward(input, pass, selected);
  }

  TextModel model_;
};

TEST_P(LanguageEncoder, HasTheStatesOfItsOwnRun) {
  const torch::NoGradGuard no_grad;
  const LanguageModel alone = make_language_model(options().language(), 31);
  initialise(*alone, 8);
  std::map<std::string, torch::Tensor> weights;
  for (const auto& [name, weight] : weights_of(*model_)) weights[name] = weight;
  for (const auto& [name, weight] : weights_of(*alone)) weight.copy_(weights.at("language." + name));
  refresh_weights(*alone);
  const SegmentedSequences input = texts({{4, 9, 20, 7}, {5}, {30, 2}});
  Pass pass = Pass::inference();
  EXPECT_TRUE(torch::equal(read(input).hidden_MH, alone->forward(input.tokens, pass)));
}

TEST_P(LanguageEncoder, TheLastStateIsThatOfTheLastToken) {
  const SegmentedSequences input = texts({{4, 9, 20, 7}, {5}, {30, 2}});
  const Encoded encoded = read(input);
  EXPECT_TRUE(torch::equal(encoded.last_BH, encoded.hidden_MH.index_select(0, torch::tensor({3, 4, 6}))));
  const Selection some = select({1, 4}, input.tokens.layout, torch::kCPU);
  EXPECT_TRUE(torch::equal(read(input, some).hidden_MH, encoded.hidden_MH.index_select(0, torch::tensor({1, 4}))));
}

TEST_P(LanguageEncoder, EveryParameterHasItsLayer) {
  std::map<std::int64_t, int> parameters;
  for (const auto& [name, parameter] : parameters_of(*model_)) {
    if (!model_->encoder().owns(name)) continue;
    const std::int64_t layer = model_->encoder().layer_of(name).value_or(3);
    EXPECT_EQ(layer == 0, name.find("embedding") != std::string::npos) << name;
    EXPECT_EQ(layer == 3, name.starts_with("language.decoder.norm.")) << name;
    ++parameters[layer];
  }
  EXPECT_EQ(parameters[0], GetParam() == LanguageCell::transformer ? 2 : 1);
  EXPECT_GT(parameters[1], 0);
  EXPECT_EQ(parameters[1], parameters[2]);
}

TEST_P(LanguageEncoder, ReadsAsFarAsItsPositions) {
  EXPECT_EQ(options().longest(), GetParam() == LanguageCell::transformer ? 16 : kMostTokensOfSample);
}

TEST_P(LanguageEncoder, HasNoFirstStateToPool) {
  TextModelOptions first = options();
  first.pooling = Pooling::cls;
  EXPECT_THROW(TextModel(first, LabelledTask{.labels = {"x", "y"}}, 31), UserError);
}

INSTANTIATE_TEST_SUITE_P(Cells, LanguageEncoder,
                         testing::Values(LanguageCell::transformer, LanguageCell::lstm, LanguageCell::gru),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

}  // namespace
}  // namespace attend
