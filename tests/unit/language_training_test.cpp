// The training of language models: the state that the objective carries from one update to the next.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "models/language/language_options.hpp"
#include "models/layers/layers.hpp"
#include "tests/support/device.hpp"
#include "tests/support/sentences.hpp"
#include "tests/support/user_error.hpp"
#include "train/pretraining/config.hpp"
#include "train/pretraining/objective.hpp"

namespace attend {
namespace {

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
