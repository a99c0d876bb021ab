// Every combination of parts that the options allow.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "models/bert/bert.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "models/text/text_model.hpp"
#include "models/translation/factory.hpp"
#include "tests/support/combinations.hpp"
#include "tests/support/device.hpp"
#include "tests/support/families.hpp"
#include "tests/support/model_properties.hpp"

namespace attend {
namespace {

// Properties of every combination of the parts of a Transformer that the factories allow. Options are drawn from a
// seed; contradictory ones must be refused with the name of an option.

constexpr VocabularySizes kSizes{.src = kVocabulary, .tgt = kVocabulary};

ModelConfig drawn_translation(RandomStream& random) {
  ModelConfig config;
  config.encoder_layers = config.decoder_layers = 2;
  config.width = 12;
  config.dropout = 0;
  draw_options(bind(config), {{"heads", {1, 2, 3, 6, 12}}, {"feed-forward", {0, 19}}, {"self-window", {0, 0, 2}}},
               random);
  if (config.block.feed_forward == 0) config.block.activation = BlockOptions().activation;
  // Without residual connections, other matrices than the family's let the signal of a narrow stack vanish or explode.
  if (!config.block.residual) config.initial.matrices = Initialiser::of_family;
  // Shorter than some sentences, and once in a while not wanted.
  if (has_tables(config) || random.below(16) == 0) config.max_positions = 5;
  return config;
}

TEST(Variants, OfTranslationHoldWhatEveryModelHolds) {
  const auto make = [](const ModelConfig& config) { return make_seq2seq(config, kSizes, 7); };
  for_each_combination(drawn_translation, make, [&](const ModelConfig& config, Seq2SeqImpl& model) {
    model.to(test_device());
    expect_steps_are_forward(model);
    expect_a_batch_is_its_sentences(model);
    expect_plain_ops_give_the_same_steps(model);
    expect_plain_ops_give_the_same_gradients(model);
    expect_every_gradient(model);
    const Seq2Seq other = make_seq2seq(config, kSizes, 8);
    other->to(test_device());
    expect_weights_are_the_model(model, *other);
  });
}

StackOptions drawn_bert(RandomStream& random) {
  StackOptions options;
  options.layers = 2;
  options.width = 12;
  options.max_positions = 8;
  options.dropout = 0;
  draw_options(bind(options),
               {{"heads", {1, 2, 3, 6, 12}},
                {"feed-forward", {0, 19}},
                {"self-window", {0, 0, 2}},
                {"embedding-width", {6, 12}}},
               random);
  options.block.attention_dropout = 0;
  if (options.initialiser == Initialiser::of_family) options.initial_deviation = 0.3;
  return options;
}

SegmentedSequences some_texts(const std::vector<std::vector<std::int64_t>>& sentences) {
  const Sequences tokens = sequences_of(sentences);
  return {.tokens = tokens, .segments_M = tokens.ids_M % 2};
}

TEST(Variants, OfBertHoldWhatEveryModelHolds) {
  const auto make = [](const StackOptions& options) {
    const Bert bert(options, kVocabulary);
    initialise(*bert, 7);
    return bert.ptr();
  };
  const auto sentences = random_sentences(kSourceLengths, 1);
  const SegmentedSequences input = some_texts(sentences);
  const std::vector<std::int64_t> rows = {0, 3, 5, 6, 14, 21};
  for_each_combination(drawn_bert, make, [&](const StackOptions& /*options*/, BertImpl& bert) {
    bert.to(test_device());
    {
      const at::NoGradGuard no_grad;
      Pass inference = Pass::inference();
      const auto together = bert.forward(input, inference);
      for (std::size_t b = 0; b < sentences.size(); ++b) {
        const Layout& layout = input.tokens.layout;
        expect_close(together.narrow(0, layout.offsets[b], layout.length(static_cast<std::int64_t>(b))),
                     bert.forward(some_texts({sentences[b]}), inference));
      }
      const Selection wanted = select(rows, input.tokens.layout, test_device());
      expect_close(bert.forward(input, inference, wanted), wanted.of(together));
      const ops::PlainOps plain;
      expect_close(bert.forward(input, inference), together);
      expect_close(bert.forward(input, inference, wanted), wanted.of(together));
    }
    const auto gradients_of = [&](const auto& states) {
      at::manual_seed(17);
      return torch::autograd::grad({(states * torch::randn(states.sizes()).to(test_device())).sum()},
                                   bert.parameters());
    };
    Pass whole = Pass::inference(), selected = Pass::inference();
    const Selection wanted = select(rows, input.tokens.layout, test_device());
    const auto expected = gradients_of(wanted.of(bert.forward(input, whole)));
    const auto found = gradients_of(bert.forward(input, selected, wanted));
    for (std::size_t i = 0; i < expected.size(); ++i) expect_close(found[i], expected[i]);
    Pass train = Pass::train(3);
    at::manual_seed(17);
    const auto hidden = bert.forward(input, train);
    (hidden * torch::randn(hidden.sizes()).to(test_device())).sum().backward();
    expect_every_gradient(bert);
  });
}

// Self-attention compares tokens without a look at where they stand; positions tell a model the order.
TEST(Variants, OrderHasNoInfluenceWithoutPositions) {
  const at::NoGradGuard no_grad;
  Pass inference = Pass::inference();
  const auto src = random_sentences({7}, 1), tgt = random_sentences({5}, 2);
  auto other = src;  // not turned round: alibi sees forwards what it sees backwards
  std::ranges::swap(other[0][0], other[0][4]);
  ASSERT_NE(src, other);
  for (const auto& [projections, projections_name] : kEnumNames<ProjectionKind>) {
    for (const auto& [positions, positions_name] : kEnumNames<PositionKind>) {
      SCOPED_TRACE(std::string(projections_name) + ", " + std::string(positions_name));
      ModelConfig config = families(/*dropout=*/0)[0].config;
      config.block.projections = projections;
      config.block.positions = positions;
      if (has_tables(config)) config.max_positions = 9;
      const Seq2Seq model = make_seq2seq(config, kSizes, 7);
      model->to(test_device());
      const auto read = model->forward(make_batch(src, tgt), inference);
      const auto read_otherwise = model->forward(make_batch(other, tgt), inference);
      if (positions == PositionKind::none) {
        expect_close(read, read_otherwise);
      } else {
        EXPECT_GT((read - read_otherwise).abs().max().item<double>(), 1e-4);
      }
    }
  }
}

// Properties of every text encoder, pooling and head: a batch equals its texts, and every parameter has a gradient.

struct TextCase {
  TextEncoderKind encoder;
  TaskKind kind;
  std::optional<Pooling> pooling = {};
  LanguageCell cell = LanguageCell::transformer;
};

std::vector<TextCase> text_cases() {
  std::vector<TextCase> result;
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

class TextModelProperty : public testing::TestWithParam<TextCase> {
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

std::string name_of_case(const testing::TestParamInfo<TextCase>& info) {
  std::string name = std::string(name_of(info.param.encoder)) + "_" + std::string(name_of(info.param.kind));
  if (info.param.cell != LanguageCell::transformer) name += "_" + std::string(name_of(info.param.cell));
  if (info.param.pooling) name += "_" + std::string(name_of(*info.param.pooling));
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(TextModels, TextModelProperty, testing::ValuesIn(text_cases()), name_of_case);

}  // namespace
}  // namespace attend
