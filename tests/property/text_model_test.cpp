// Properties of every text encoder, pooling and head: a batch equals its texts, and every parameter has a gradient.
#include "models/text/text_model.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"

namespace attend {
namespace {

struct Case {
  TextEncoderKind encoder;
  TaskKind kind;
  std::optional<Pooling> pooling = {};
  LanguageCell cell = LanguageCell::transformer;
};

std::vector<Case> cases() {
  std::vector<Case> result;
  using enum TextEncoderKind;
  for (const auto& [encoder, cell] : {std::pair{bert, LanguageCell::transformer},
                                      {lstm, LanguageCell::transformer},
                                      {language, LanguageCell::transformer},
                                      {language, LanguageCell::gru}}) {
    for (const auto& [pooling, name] : kEnumNames<Pooling>) {
      if (pooling == Pooling::last && encoder == bert) continue;
      // Nothing comes before an LSTM's first state, so it would leave weights without a gradient.
      if (pooling == Pooling::cls && encoder != bert) continue;
      result.push_back({encoder, TaskKind::classification, pooling, cell});
    }
    for (const TaskKind kind : {TaskKind::multi_label, TaskKind::regression, TaskKind::spans, TaskKind::tags}) {
      result.push_back({encoder, kind, {}, cell});
    }
  }
  return result;
}

class TextModelProperty : public testing::TestWithParam<Case> {
 protected:
  TextModelProperty() : model_(options(), task(), 31) {
    initialise(*model_, 3);
    // Of pairs of unequal length, the second of one of them without a token.
    for (const auto& [first, second] : {std::pair{4U, 3U}, {2U, 0U}, {9U, 8U}, {3U, 1U}, {5U, 9U}}) {
      Sample& sample = samples_.emplace_back();
      for (std::uint32_t i = 0; i < first + second; ++i) {
        sample.ids.push_back(static_cast<std::int32_t>((samples_.size() * 7 + i * 5) % 31));
      }
      sample.first = first;
      sample.gold = {.label = samples_.size() % 3, .labels = {1, 0, 1}, .number = 0.5};
      sample.answer = {.begin = 0, .end = first - 1};
      sample.words = {0, 1};
      sample.tags = {2, 1};
    }
  }

  static TextModelOptions options() {
    TextModelOptions options{.model = GetParam().encoder,
                             .pooling = GetParam().pooling,
                             .cell = GetParam().cell,
                             .encoder = {.layers = 2, .width = 38, .dropout = 0}};
    if (GetParam().encoder != TextEncoderKind::lstm) {
      options.encoder.block.heads = 2;
      options.encoder.block.feed_forward = 41;
      options.encoder.block.attention_dropout = 0;
    }
    return options;
  }
  static LabelledTask task() { return {.kind = GetParam().kind, .text = {"a", "b"}, .labels = {"x", "y", "z"}}; }

  torch::Tensor logits(const std::vector<const Sample*>& samples) const {
    Pass pass = Pass::inference();
    return model_->logits(make_labelled_batch(samples), pass);
  }
  std::vector<const Sample*> all() const {
    std::vector<const Sample*> result;
    for (const Sample& sample : samples_) result.push_back(&sample);
    return result;
  }

  TextModel model_;
  std::vector<Sample> samples_;
};

TEST_P(TextModelProperty, ABatchIsItsTexts) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> alone;
  for (const Sample& sample : samples_) alone.push_back(logits({&sample}));
  const torch::Tensor together = logits(all()), expected = torch::cat(alone);
  ASSERT_EQ(together.sizes(), expected.sizes());
  EXPECT_LE((together - expected).abs().max().item<double>(), 1e-5);
  EXPECT_GT((together[0] - together[together.size(0) - 1]).abs().max().item<double>(), 1e-4) << "texts are told apart";
}

TEST_P(TextModelProperty, EveryParameterHasAGradient) {
  const LabelledBatch batch = make_labelled_batch(all());
  Pass pass = Pass::train(1);
  model_->head().loss(model_->logits(batch, pass), batch, {}).backward();
  for (const auto& [name, parameter] : parameters_of(*model_)) {
    ASSERT_TRUE(parameter.grad().defined()) << name;
    EXPECT_GT(parameter.grad().abs().max().item<double>(), 0) << name;
  }
}

std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  std::string name = std::string(name_of(info.param.encoder)) + "_" + std::string(name_of(info.param.kind));
  if (info.param.cell != LanguageCell::transformer) name += "_" + std::string(name_of(info.param.cell));
  if (info.param.pooling) name += "_" + std::string(name_of(*info.param.pooling));
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(TextModels, TextModelProperty, testing::ValuesIn(cases()), name_of_case);

}  // namespace
}  // namespace attend
