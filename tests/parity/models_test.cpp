// Models beside plain PyTorch.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "eval/attention.hpp"
#include "models/bert/bert.hpp"
#include "models/language/language_model.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "models/translation/factory.hpp"
#include "models/translation/seq2seq.hpp"
#include "tests/support/families.hpp"
#include "tests/support/parity.hpp"
#include "train/pretraining/objective.hpp"

namespace attend {
namespace {

// Each family beside its formulation in PyTorch: hidden states, recurrent attention, every gradient, and ten updates.

class Seq2SeqParity : public testing::TestWithParam<Family> {
 protected:
  Seq2SeqParity()
      : fixture_(GetParam().name), model_(make_seq2seq(GetParam().config, {.src = 23, .tgt = 23}, std::nullopt)) {
    model_->to(test_device());
    const at::NoGradGuard no_grad;
    for (const auto& [name, tensor] : weights_of(*model_)) tensor.copy_(fixture_.tensor("weight." + name));
    batch_ = {.src = fixture_.sequences("src", "src_lengths"),
              .tgt = fixture_.sequences("tgt", "tgt_lengths"),
              .labels_M = fixture_.tensor("labels"),
              .examples = {}};
  }

  // Leaves gradients in the parameters, and returns the loss.
  double backward() {
    Pass pass = Pass::train(1);
    for (const auto& parameter : model_->parameters()) parameter.mutable_grad().reset();
    const auto loss = ops::cross_entropy(model_->forward(batch_, pass), model_->output_table(), model_->output_bias(),
                                         batch_.labels_M, 0.1)
                          .loss;
    loss.backward();
    return loss.item<double>();
  }

  Fixture fixture_;
  Seq2Seq model_;
  Batch batch_;
};

TEST_P(Seq2SeqParity, HiddenStates) {
  Pass pass = Pass::inference();
  expect_close(model_->forward(batch_, pass).detach(), fixture_.tensor("hidden"), "hidden");
}

TEST_P(Seq2SeqParity, AttentionOfRecurrentModels) {
  if (!fixture_.has("attention")) return;
  AttentionRecorder recorder;
  Pass pass = Pass::inference(&recorder);
  model_->forward(batch_, pass);
  ASSERT_EQ(recorder.layers.size(), 1);
  expect_close(recorder.layers[0].weights.to(test_device()), fixture_.tensor("attention"), "attention");
}

TEST_P(Seq2SeqParity, EveryGradient) {
  backward();
  expect_gradients(*model_, fixture_);
}

TEST_P(Seq2SeqParity, TheLossesOfTenUpdates) {
  expect_losses_of_updates(*model_, fixture_, [&] { return backward(); });
}

TEST_P(Seq2SeqParity, InBf16) {
  visit_weights(*model_, [](ops::Weight& weight) { weight.set_precision(Precision::bf16); });
  Pass pass = Pass::inference();
  expect_close_in_bf16(model_->forward(batch_, pass).detach(), fixture_.tensor("hidden"));
  backward();
  expect_gradients_in_bf16(*model_, fixture_);
  expect_losses_of_updates(
      *model_, fixture_, [&] { return backward(); }, 1e-3, kLossInBf16);
}

INSTANTIATE_TEST_SUITE_P(Families, Seq2SeqParity, testing::ValuesIn(families(/*dropout=*/0)),
                         [](const auto& instance) { return instance.param.name; });

// Recurrent language models beside PyTorch, over two segments of each text: hidden states, the state carried from the
// first to the second, every gradient of both, and ten updates.

class LanguageParity : public testing::TestWithParam<LanguageCell> {
 protected:
  LanguageParity() : fixture_("language_" + std::string(name_of(GetParam()))) {
    LanguageOptions options;
    options.cell = GetParam();
    options.stack.layers = 2;
    options.stack.width = 13;
    options.stack.dropout = 0;
    model_ = make_language_model(options, 23);
    model_->to(test_device());
    const at::NoGradGuard no_grad;
    for (const auto& [name, tensor] : weights_of(*model_)) tensor.copy_(fixture_.tensor("weight." + name));
    refresh_weights(*model_);
  }

  Sequences segment(const std::string& name) const { return fixture_.sequences(name + ".ids", name + ".lengths"); }

  // Leaves gradients in the parameters, and returns the loss.
  double backward() {
    Pass pass = Pass::train(1);
    for (const at::Tensor& parameter : model_->parameters()) parameter.mutable_grad().reset();
    Carried carried;
    std::vector<at::Tensor> losses;
    for (const std::string name : {"first", "second"}) {
      losses.push_back(ops::cross_entropy(model_->forward(segment(name), pass, &carried), model_->output_table(), {},
                                          fixture_.tensor(name + ".labels"), 0.1)
                           .loss);
    }
    const at::Tensor loss = losses[0] + losses[1];
    loss.backward();
    return loss.item<double>();
  }

  Fixture fixture_;
  LanguageModel model_;
};

TEST_P(LanguageParity, HiddenStatesAndWhatIsCarried) {
  const at::NoGradGuard no_grad;
  Pass pass = Pass::inference();
  Carried carried;
  for (const std::string name : {"first", "second"}) {
    expect_close(model_->forward(segment(name), pass, &carried), fixture_.tensor(name + ".hidden"), name);
    for (std::size_t i = 0; i < carried.parts.size(); ++i) {
      const std::string part = name + ".state." + std::to_string(i);
      expect_close(carried.parts[i], fixture_.tensor(part), part);
    }
    EXPECT_FALSE(fixture_.has(name + ".state." + std::to_string(carried.parts.size())));
  }
}

TEST_P(LanguageParity, EveryGradientOfBothSegments) {
  backward();
  expect_gradients(*model_, fixture_);
}

TEST_P(LanguageParity, TheLossesOfTenUpdates) {
  expect_losses_of_updates(*model_, fixture_, [&] { return backward(); });
}

TEST_P(LanguageParity, InBf16) {
  visit_weights(*model_, [](ops::Weight& weight) { weight.set_precision(Precision::bf16); });
  Pass pass = Pass::inference();
  expect_close_in_bf16(model_->forward(segment("first"), pass).detach(), fixture_.tensor("first.hidden"));
  backward();
  expect_gradients_in_bf16(*model_, fixture_);
  expect_losses_of_updates(
      *model_, fixture_, [&] { return backward(); }, 1e-3, kLossInBf16);
}

INSTANTIATE_TEST_SUITE_P(Cells, LanguageParity,
                         testing::Values(LanguageCell::lstm, LanguageCell::gru, LanguageCell::tanh),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

// A hybrid language model beside PyTorch: the states that predict the next token and masked ones, every gradient of
// the objective, and ten updates.

class HybridParity : public testing::Test {
 protected:
  HybridParity() : fixture_("hybrid") {
    LanguageOptions options;
    options.stack = {.layers = 2, .width = 12, .max_positions = 9, .dropout = 0};
    options.stack.block.heads = 3;
    options.stack.block.feed_forward = 19;
    options.stack.block.norm = NormPlace::pre;
    options.stack.block.attention_dropout = 0;
    model_ = make_language_model(options, 23, PretrainingKind::hybrid);
    model_->to(test_device());
    const at::NoGradGuard no_grad;
    for (const auto& [name, tensor] : weights_of(*model_)) tensor.copy_(fixture_.tensor("weight." + name));
    refresh_weights(*model_);
    batch_ = {.tokens = fixture_.sequences("causal.ids", "causal.lengths"),
              .labels_M = fixture_.tensor("causal.labels"),
              .lines = {1, 2, 3, 4, 5}};
    batch_.masked.input.tokens = fixture_.sequences("masked.ids", "masked.lengths");
    batch_.masked.masked = numbers(fixture_.tensor("masked.rows"));
    batch_.masked.labels_K = fixture_.tensor("masked.labels");
  }

  // Leaves gradients in the parameters, and returns the loss.
  double backward() const {
    const LanguageObjective objective(model_, /*lanes=*/0, /*rows=*/0, test_device());
    Pass pass = Pass::train(1);
    for (const at::Tensor& parameter : model_->parameters()) parameter.mutable_grad().reset();
    const at::Tensor loss =
        objective.losses(batch_, pass)[0].loss / static_cast<double>(objective.terms(batch_)[0].count);
    loss.backward();
    return loss.item<double>();
  }

  Fixture fixture_;
  LanguageModel model_;
  LanguageBatch batch_;
};

TEST_F(HybridParity, StatesThatPredict) {
  const at::NoGradGuard no_grad;
  Pass pass = Pass::inference();
  expect_close(model_->forward(batch_.tokens, pass), fixture_.tensor("causal.hidden"), "causal");
  expect_close(model_->states_of_masked(batch_.masked.input.tokens, batch_.masked.masked, pass),
               fixture_.tensor("masked.hidden"), "masked");
}

TEST_F(HybridParity, EveryGradient) {
  backward();
  expect_gradients(*model_, fixture_);
}

TEST_F(HybridParity, TheLossesOfTenUpdates) {
  expect_losses_of_updates(*model_, fixture_, [&] { return backward(); });
}

// Without masked sequences, the loss is that of a GPT with the same weights.
TEST_F(HybridParity, OfCausalSequencesAloneIsAGpt) {
  const at::NoGradGuard no_grad;
  batch_.masked = {};
  batch_.lines = {1, 2};
  Pass pass = Pass::inference();
  const LanguageObjective objective(model_, 0, 0, test_device());
  const double sum = objective.losses(batch_, pass)[0].loss.item<double>();
  const at::Tensor logits_MV = ops::logits(model_->forward(batch_.tokens, pass), model_->output_table(), {});
  EXPECT_NEAR(sum / 2, at::cross_entropy_loss(logits_MV, batch_.labels_M).item<double>(), 1e-5);
}

// Two-stream attention beside a formulation in PyTorch that computes one token at a time: the query stream, the loss,
// every gradient, and ten updates.

BertForPretraining permuted_model_of(const Fixture& fixture, PositionKind positions) {
  BertForPretraining model(
      StackOptions{
          .layers = 2,
          .width = 8,
          .max_positions = 9,
          .block = {.heads = 2, .feed_forward = 11, .positions = positions, .activation = FeedForwardKind::gelu},
          .dropout = 0},
      /*vocabulary=*/17, /*query=*/4);
  model->to(test_device());
  const at::NoGradGuard no_grad;
  for (const auto& [name, parameter] : parameters_of(*model)) parameter.copy_(fixture.tensor("weight." + name));
  refresh_weights(*model);
  return model;
}

class PermutedParity : public testing::TestWithParam<PositionKind> {
 protected:
  PermutedParity()
      : fixture_("permuted_" + std::string(name_of(GetParam()))),
        model_(permuted_model_of(fixture_, GetParam())),
        batch_{.input = {.tokens = fixture_.sequences("ids", "lengths"), .segments_M = {}},
               .masked = numbers(fixture_.tensor("predicted")),
               .labels_K = fixture_.tensor("labels"),
               .relations_B = {},
               .ranks_M = fixture_.tensor("ranks")} {
    batch_.input.segments_M = at::zeros_like(batch_.input.tokens.ids_M);
  }

  // Leaves the gradients of the mean loss in the parameters (zeros for the unused head), and returns it.
  double backward() {
    for (const auto& parameter : model_->parameters()) parameter.mutable_grad() = at::zeros_like(parameter);
    Pass pass = Pass::train(1);
    const torch::Tensor loss = model_->forward(batch_, pass).masked.loss / static_cast<double>(batch_.labels_K.size(0));
    loss.backward();
    return loss.item<double>();
  }

  Fixture fixture_;
  BertForPretraining model_;
  PretrainingBatch batch_;
};

TEST_P(PermutedParity, QueryStream) {
  Pass pass = Pass::inference();
  const Selection queried = select(batch_.masked, batch_.input.tokens.layout, test_device());
  expect_close(model_->bert->forward_queries(batch_.input, batch_.ranks_M, queried, pass).detach(),
               fixture_.tensor("queries"), "queries");
}

TEST_P(PermutedParity, LossAndEveryGradient) {
  EXPECT_NEAR(backward(), fixture_.tensor("loss").item<double>(), 1e-5);
  expect_gradients(*model_, fixture_);
}

TEST_P(PermutedParity, TheLossesOfTenUpdates) {
  expect_losses_of_updates(*model_, fixture_, [&] { return backward(); });
}

INSTANTIATE_TEST_SUITE_P(Positions, PermutedParity, testing::Values(PositionKind::learned, PositionKind::rotary),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

}  // namespace
}  // namespace attend
