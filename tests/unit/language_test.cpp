// Language models.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "models/language/language_model.hpp"
#include "models/layers/initialise.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "models/text/text_model.hpp"
#include "tests/support/device.hpp"
#include "tests/support/sentences.hpp"
#include "tests/support/user_error.hpp"
#include "train/pretraining/config.hpp"
#include "train/pretraining/objective.hpp"

namespace attend {
namespace {

// What is made of the options of language models.

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

// A language model below the head of a task: the states that it has in its own run, read from left to right.

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

// The training of language models: the state that the objective carries from one update to the next.

using torch::Tensor;

// A memory of more tokens than a segment has, so that it grows.
LanguageModel language_model_of_cell(LanguageCell cell, std::int64_t memory = 0,
                                     Precision precision = Precision::fp32) {
  LanguageOptions options{.cell = cell, .memory = memory, .stack = {.layers = 2, .width = 12, .dropout = 0}};
  options.stack.block.attention_dropout = 0;
  if (memory > 0) {
    options.stack.block.positions = PositionKind::transformer_xl;
    options.stack.initial_deviation = 1;
  }
  const LanguageModel model = make_language_model(options, kVocabulary);
  initialise(*model, 3);
  model->to(test_device());
  visit_weights(*model, [&](ops::Weight& weight) { weight.set_precision(precision); });
  return model;
}

// Two rows of six tokens; the labels are of no text.
LanguageBatch batch_of_lane(std::int64_t lane, bool begins, std::uint64_t seed) {
  LanguageBatch batch{.tokens = sequences_of(random_sentences({6, 6}, seed)), .labels_M = {}};
  batch.labels_M = (batch.tokens.ids_M * 5 + 1) % kVocabulary;
  batch.lane = lane;
  batch.begins = begins;
  return batch;
}

// Every row of `first` and then that of `second`, as one segment.
LanguageBatch joined(const LanguageBatch& first, const LanguageBatch& second) {
  const auto rows = [](const Tensor& of_first, const Tensor& of_second) {
    return at::cat({of_first.view({2, 6}), of_second.view({2, 6})}, 1).flatten();
  };
  LanguageBatch batch;
  batch.tokens.ids_M = rows(first.tokens.ids_M, second.tokens.ids_M);
  batch.labels_M = rows(first.labels_M, second.labels_M);
  batch.tokens.layout.append(12);
  batch.tokens.layout.append(12);
  return batch;
}

double loss_of(const LanguageObjective& objective, const LanguageBatch& batch) {
  Pass pass = Pass::train(1);
  const std::vector<LossSum> sums = objective.losses(batch, pass);
  EXPECT_EQ(sums.size(), 1U);
  EXPECT_NEAR(sums[0].loss.item<double>(), sums[0].reported.item<double>(), 1e-4);
  return sums[0].loss.item<double>();
}

struct Carrier {
  std::string name;
  std::int64_t parts;  // of two layers
  LanguageCell cell;
  std::int64_t memory = 0;
  Precision precision = Precision::fp32;
  double tolerance = 1e-4;
};

class CarriedState : public testing::TestWithParam<Carrier> {
 protected:
  LanguageObjective make(std::int64_t lanes) const { return {model_, lanes, /*rows=*/2, test_device()}; }

  LanguageModel model_ = language_model_of_cell(GetParam().cell, GetParam().memory, GetParam().precision);
  const std::vector<double> means_ = {1};
};

TEST_P(CarriedState, ABatchGoesOnWhereTheLastUpdateEnded) {
  const LanguageBatch first = batch_of_lane(0, true, 1), second = batch_of_lane(0, false, 2);
  LanguageObjective objective = make(1);
  const double of_first = loss_of(objective, first);
  const double from_nothing = loss_of(objective, second);  // no update was made
  objective.update_made(means_);
  loss_of(objective, first);
  objective.update_made(means_);
  const double of_second = loss_of(objective, second);
  EXPECT_NEAR(of_first + of_second, loss_of(make(1), joined(first, second)), GetParam().tolerance);
  EXPECT_GT(std::abs(of_second - from_nothing), 2 * GetParam().tolerance);
  LanguageBatch begins = second;
  begins.begins = true;
  EXPECT_NEAR(loss_of(objective, begins), from_nothing, 1e-6);
}

TEST_P(CarriedState, StaysIfTheUpdateIsNotMade) {
  LanguageObjective objective = make(1);
  loss_of(objective, batch_of_lane(0, true, 1));
  objective.update_made(means_);
  std::vector<Tensor> before;
  for (const auto& [name, tensor] : objective.state()) before.push_back(tensor.clone());
  ASSERT_FALSE(before.empty());
  const LanguageBatch next = batch_of_lane(0, false, 2);
  const double loss = loss_of(objective, next);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(at::equal(objective.state()[i].second, before[i]));
  EXPECT_EQ(loss_of(objective, next), loss);
  objective.update_made(means_);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_FALSE(at::equal(objective.state()[i].second, before[i]));
}

TEST_P(CarriedState, OfAnAccumulatedUpdateHasALaneForEachBatch) {
  LanguageObjective both = make(2);
  LanguageObjective left = make(1), right = make(1);
  LanguageBatch batches[] = {batch_of_lane(0, true, 1), batch_of_lane(1, true, 2)};
  for (int update = 0; update < 3; ++update) {
    const double losses[] = {loss_of(both, batches[0]), loss_of(both, batches[1])};
    both.update_made(means_);
    batches[1].lane = 0;
    EXPECT_EQ(losses[0], loss_of(left, batches[0]));
    EXPECT_EQ(losses[1], loss_of(right, batches[1]));
    left.update_made(means_), right.update_made(means_);
    const auto seed = static_cast<std::uint64_t>(3 + 2 * update);
    batches[0] = batch_of_lane(0, false, seed), batches[1] = batch_of_lane(1, false, seed + 1);
  }
}

// As checkpoints restore it: in place, by name.
TEST_P(CarriedState, IsRestoredFromItsTensors) {
  LanguageObjective trained = make(2), resumed = make(2);
  loss_of(trained, batch_of_lane(0, true, 4));
  loss_of(trained, batch_of_lane(1, true, 5));
  trained.update_made(means_);
  const NamedTensors from = trained.state(), to = resumed.state();
  ASSERT_EQ(std::ssize(from), 2 * GetParam().parts) << "of two lanes";
  EXPECT_EQ(from.front().first, "carried.0.0");
  EXPECT_EQ(from.back().first, "carried.1." + std::to_string(GetParam().parts - 1));
  for (std::size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(from[i].first, to[i].first);
    EXPECT_EQ(from[i].second.scalar_type(), at::kFloat);
    to[i].second.copy_(from[i].second);
  }
  for (const std::int64_t lane : {0, 1}) {
    EXPECT_EQ(loss_of(resumed, batch_of_lane(lane, false, 6)), loss_of(trained, batch_of_lane(lane, false, 6)));
  }
}

// A memory has the hidden states before each layer, and their number.
INSTANTIATE_TEST_SUITE_P(
    Carriers, CarriedState,
    testing::Values(Carrier{"lstm", 4, LanguageCell::lstm}, Carrier{"gru", 2, LanguageCell::gru},
                    Carrier{"tanh", 2, LanguageCell::tanh}, Carrier{"memory", 3, LanguageCell::transformer, 9},
                    Carrier{"bf16_memory", 3, LanguageCell::transformer, 9, Precision::bf16, 2e-3}),
    [](const auto& instance) { return instance.param.name; });

TEST(LanguageTraining, ATransformerCarriesNothing) {
  const LanguageModel model = language_model_of_cell(LanguageCell::transformer);
  LanguageObjective objective(model, /*lanes=*/0, /*rows=*/2, test_device());
  const LanguageBatch batch = batch_of_lane(0, true, 1);
  EXPECT_TRUE(objective.state().empty());
  const double loss = loss_of(objective, batch);
  objective.update_made(std::vector<double>{1});
  EXPECT_EQ(loss_of(objective, batch), loss);
  EXPECT_EQ(objective.terms(batch).front().count, 12);
  EXPECT_TRUE(objective.terms(batch).front().has_perplexity);
}

TEST(LanguageTraining, IsWatchedLayerByLayer) {
  for (const LanguageCell cell : {LanguageCell::transformer, LanguageCell::lstm}) {
    const LanguageModel model = language_model_of_cell(cell);
    const LanguageObjective objective(model, cell == LanguageCell::lstm ? 1 : 0, /*rows=*/2, test_device());
    const torch::NoGradGuard no_grad;
    Watch watch(*model);
    watch.update_made();
    objective.show(batch_of_lane(0, true, 1), watch);
    std::map<std::string, double, std::less<>> numbers;
    for (const auto& [name, value] : watch.values()) numbers.emplace(name, value);
    const std::string place = cell == LanguageCell::lstm ? "encoder" : "decoder";
    for (const char* quantity : {"hidden", "rank_one", "update", "weight_rank"}) {
      const std::string name = std::string(quantity) + "/" + place + ".1";
      ASSERT_TRUE(numbers.contains(name)) << name;
      EXPECT_TRUE(std::isfinite(numbers.at(name))) << name;
    }
  }
}

TEST(LanguageTraining, CarriesStateInOneProcess) {
  PretrainingConfig config;
  config.objective = PretrainingKind::causal;
  config.trainer.processes = 2;
  OptionOrigins origins;
  for (const char* option : {"cell", "memory"}) origins.record(option, "--" + std::string(option));
  const auto refusal = [&] { return user_error_of([&] { config.refuse_contradictions(origins); }); };
  EXPECT_EQ(refusal(), "");
  config.model.cell = LanguageCell::lstm;
  const std::string said = ": what the model remembers of a text is kept in one process, but there are 2";
  EXPECT_EQ(refusal(), "--cell" + said);
  config.model.cell = LanguageCell::transformer;
  config.model.memory = 8;
  config.model.stack.block.positions = PositionKind::transformer_xl;
  EXPECT_EQ(refusal(), "--memory" + said);
}

}  // namespace
}  // namespace attend
