// What holds of every combination of the parts of a Transformer that the factories allow: options are drawn from a
// seed, and those that contradict each other must be refused by name. ATTEND_TEST_VARIANTS is the number of
// combinations of each kind of model that are tested, by default 24.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/random.hpp"
#include "models/bert/bert_config.hpp"
#include "models/translation/factory.hpp"
#include "tests/support/device.hpp"
#include "tests/support/families.hpp"
#include "tests/support/model_properties.hpp"

namespace attend {
namespace {

constexpr VocabularySizes kSizes{.src = kVocabulary, .tgt = kVocabulary};

std::size_t num_combinations() {
  const char* wanted = std::getenv("ATTEND_TEST_VARIANTS");
  return wanted != nullptr ? std::stoul(wanted) : 24;
}

// Gives every option that applies one of its names, if it has names, or one of the numbers listed here.
void draw_options(BoundOptions options, const std::map<std::string_view, std::vector<std::int64_t>>& numbers,
                  RandomStream& random) {
  for (BoundOption& option : options) {
    if (option.name == "model" || !applies(options, option)) continue;
    if (option.kind == OptionKind::choice) {
      option.set(std::string(option.choices[random.below(option.choices.size())]));
    } else if (option.kind == OptionKind::flag) {
      option.set(random.below(2) == 1);
    } else if (const auto found = numbers.find(option.name); found != numbers.end()) {
      option.set(found->second[random.below(found->second.size())]);
    }
  }
}

// The options that differ from their defaults, as words of a command line.
template <class Config>
std::string words_of(const Config& config) {
  std::string words;
  const OptionTexts defaults = default_texts<Config>();
  for (const auto& [name, text] : texts_of(bind(config))) {
    if (text != defaults.at(name)) words += " --" + name + " " + text;
  }
  return words;
}

template <class Config>
void expect_names_an_option(const Config& config, const UserError& error) {
  const std::string said = error.what();
  const BoundOptions options = bind(config);
  EXPECT_TRUE(std::ranges::any_of(options, [&](const BoundOption& option) {
    return said.find(option.name) != std::string::npos;
  })) << said;
  EXPECT_FALSE(error.remedy().empty()) << said;
}

// Calls `f` with as many combinations as are wanted for which `make`, which throws UserError for the others, gives a
// model.
template <class Draw, class Make, class F>
void for_each_combination(const Draw& draw, const Make& make, const F& f) {
  std::size_t num_refused = 0;
  for (std::size_t seed = 1, num_made = 0; num_made < num_combinations(); ++seed) {
    RandomStream random(seed);
    const auto config = draw(random);
    SCOPED_TRACE("combination " + std::to_string(seed) + ":" + words_of(config));
    decltype(make(config)) model;
    try {
      model = make(config);
    } catch (const UserError& error) {
      expect_names_an_option(config, error);
      ASSERT_LT(++num_refused, 50 + 20 * num_made) << "the options allow less than they did";
      continue;
    }
    ++num_made;
    f(config, *model);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(num_refused, 0U) << "what contradicts itself is made";
}

ModelConfig drawn_translation(RandomStream& random) {
  ModelConfig config;
  config.encoder_layers = config.decoder_layers = 2;
  config.width = 12;
  config.dropout = 0;
  draw_options(bind(config), {{"heads", {1, 2, 3, 6, 12}}, {"feed-forward", {0, 19}}, {"self-window", {0, 0, 2}}},
               random);
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

BertOptions drawn_bert(RandomStream& random) {
  BertOptions options;
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
  const auto make = [](const BertOptions& options) {
    const Bert bert(bert_config(options, kVocabulary));
    initialise(*bert, 7);
    return bert.ptr();
  };
  const auto sentences = random_sentences(kSourceLengths, 1);
  const SegmentedSequences input = some_texts(sentences);
  const std::vector<std::int64_t> rows = {0, 3, 5, 6, 14, 21};
  for_each_combination(drawn_bert, make, [&](const BertOptions& /*options*/, BertImpl& bert) {
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

}  // namespace
}  // namespace attend
