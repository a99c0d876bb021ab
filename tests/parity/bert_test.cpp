// BERT and text models beside PyTorch.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>

#include "eval/attention.hpp"
#include "models/bert/bert.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "models/text/text_model.hpp"
#include "tests/support/parity.hpp"

namespace attend {
namespace {

// BERT beside Hugging Face's BertForPreTraining: hidden states, attention, both losses, every gradient, and ten
// updates.

struct Variant {
  std::string name;  // of the fixture
  FeedForwardKind activation;
};

BertForPretraining model_of(const Fixture& fixture, FeedForwardKind activation) {
  BertForPretraining model(
      StackOptions{
          .layers = 2,
          .width = 12,
          .max_positions = 17,
          .block = {.heads = 3, .feed_forward = 19, .positions = PositionKind::learned, .activation = activation},
          .dropout = 0},
      /*vocabulary=*/29);
  model->to(test_device());
  const at::NoGradGuard no_grad;
  for (const auto& [name, parameter] : parameters_of(*model)) parameter.copy_(fixture.tensor("weight." + name));
  return model;
}

// Leaves the gradients of the mean losses in the parameters, and returns their sum.
double backward(BertForPretraining& model, const PretrainingBatch& batch) {
  for (const auto& parameter : model->parameters()) parameter.mutable_grad().reset();
  Pass pass = Pass::train(1);
  const auto losses = model->forward(batch, pass);
  const torch::Tensor loss = losses.masked.loss / static_cast<double>(batch.labels_K.size(0)) +
                             losses.sequence.loss / static_cast<double>(batch.relations_B.size(0));
  loss.backward();
  return loss.item<double>();
}

class BertParity : public testing::TestWithParam<Variant> {
 protected:
  BertParity()
      : fixture_(GetParam().name),
        model_(model_of(fixture_, GetParam().activation)),
        batch_{.input = {.tokens = fixture_.sequences("ids", "lengths"), .segments_M = fixture_.tensor("segments")},
               .masked = numbers(fixture_.tensor("masked")),
               .labels_K = fixture_.tensor("labels"),
               .relations_B = fixture_.tensor("relations"),
               .lines = {}} {}

  Fixture fixture_;
  BertForPretraining model_;
  PretrainingBatch batch_;
};

TEST_P(BertParity, HiddenStates) {
  Pass pass = Pass::inference();
  expect_close(model_->bert->forward(batch_.input, pass).detach(), fixture_.tensor("hidden"), "hidden");
}

TEST_P(BertParity, AttentionOfEveryLayer) {
  AttentionRecorder recorder;
  Pass pass = Pass::inference(&recorder);
  model_->bert->forward(batch_.input, pass);
  const torch::Tensor expected = fixture_.tensor("attention");
  ASSERT_EQ(recorder.layers.size(), expected.size(0));
  for (const LayerAttention& seen : recorder.layers) {
    expect_close(seen.weights.to(test_device()), expected[seen.layer], "layer " + std::to_string(seen.layer));
  }
}

TEST_P(BertParity, BothLosses) {
  Pass pass = Pass::inference();
  const auto losses = model_->forward(batch_, pass);
  expect_close(losses.masked.loss.detach(), fixture_.tensor("masked_loss"), "masked_loss");
  expect_close(losses.sequence.loss.detach(), fixture_.tensor("sequence_loss"), "sequence_loss");
}

TEST_P(BertParity, EveryGradient) {
  backward(model_, batch_);
  expect_gradients(*model_, fixture_);
}

TEST_P(BertParity, TheLossesOfTenUpdates) {
  expect_losses_of_updates(*model_, fixture_, [&] { return backward(model_, batch_); });
}

TEST_P(BertParity, InBf16) {
  visit_weights(*model_, [](ops::Weight& weight) { weight.set_precision(Precision::bf16); });
  Pass pass = Pass::inference();
  expect_close_in_bf16(model_->bert->forward(batch_.input, pass).detach(), fixture_.tensor("hidden"));
  backward(model_, batch_);
  expect_gradients_in_bf16(*model_, fixture_);
  expect_losses_of_updates(
      *model_, fixture_, [&] { return backward(model_, batch_); }, 1e-3, kLossInBf16);
}

INSTANTIATE_TEST_SUITE_P(Activations, BertParity,
                         testing::Values(Variant{"bert", FeedForwardKind::gelu},
                                         Variant{"bert_gelu_tanh", FeedForwardKind::gelu_tanh}),
                         [](const auto& instance) { return instance.param.name; });

// Over 300 updates, in which the loss falls from 3.9 to 2.3, differences in rounding grow to at most half a per cent.
TEST(BertLearns, AsInPyTorch) {
  const Fixture fixture("bert_learns");
  BertForPretraining model = model_of(fixture, FeedForwardKind::gelu);
  std::vector<PretrainingBatch> batches;
  for (std::int64_t i = 0; i < fixture.tensor("ids").size(0); ++i) {
    const auto row = [&](const std::string& name) { return fixture.tensor(name)[i]; };
    batches.push_back({.input = {.tokens = sequences(row("ids"), row("lengths")), .segments_M = row("segments")},
                       .masked = numbers(row("masked")),
                       .labels_K = row("labels"),
                       .relations_B = row("relations"),
                       .lines = {}});
  }
  std::size_t update = 0;
  expect_losses_of_updates(
      *model, fixture, [&] { return backward(model, batches[update++ % batches.size()]); }, 3e-3, 0.005);
}

// Text models beside PyTorch: Hugging Face's BERT with the head of each task, and an LSTM with poolings
// (make_fixtures_poolings.py). Logits, every gradient, and ten updates.

TextModelOptions small_bert() {
  return {.encoder = {.layers = 2,
                      .width = 12,
                      .embedding_width = {},
                      .max_positions = 17,
                      .block = {.heads = 3,
                                .feed_forward = 19,
                                .positions = PositionKind::learned,
                                .activation = FeedForwardKind::gelu},
                      .dropout = 0}};
}

TextModelOptions small_lstm(Pooling pooling, std::int64_t layers) {
  return {.model = TextEncoderKind::lstm, .pooling = pooling, .encoder = {.layers = layers, .width = 10, .dropout = 0}};
}

struct HeadCase {
  std::string name;
  TextModelOptions options;
  TaskKind kind;
  torch::Tensor LabelledBatch::*labels = nullptr;  // receives the fixture's labels; null: begin_B and end_B do
};

class TextModelParity : public testing::TestWithParam<HeadCase> {
 protected:
  TextModelParity()
      : fixture_("text_model_" + GetParam().name),
        model_(GetParam().options, task(), 29),
        batch_{.input = {.tokens = fixture_.sequences("ids", "lengths"), .segments_M = fixture_.tensor("segments")}} {
    const torch::Tensor labels = fixture_.tensor("labels");
    if (GetParam().labels != nullptr) {
      batch_.*GetParam().labels = labels;
    } else {
      batch_.begin_B = labels.select(1, 0);
      batch_.end_B = labels.select(1, 1);
    }
    model_->to(test_device());
    if (fixture_.has("places")) batch_.words = numbers(fixture_.tensor("places"));
    const at::NoGradGuard no_grad;
    for (const auto& [name, parameter] : parameters_of(*model_)) parameter.copy_(fixture_.tensor("weight." + name));
  }

  double backward() {
    for (const auto& parameter : model_->parameters()) parameter.mutable_grad().reset();
    Pass pass = Pass::train(1);
    const torch::Tensor loss = model_->head().loss(model_->logits(batch_, pass), batch_, {}) /
                               static_cast<double>(model_->head().count(batch_));
    loss.backward();
    return loss.item<double>();
  }

  LabelledTask task() const {
    LabelledTask result{.kind = GetParam().kind, .text = {"a", "b"}};
    const std::int64_t outputs = fixture_.tensor("weight.classifier.bias").size(0);
    for (std::int64_t label = 0; label < outputs; ++label) result.labels.push_back(std::to_string(label));
    return result;
  }

  Fixture fixture_;
  TextModel model_;
  LabelledBatch batch_;
};

TEST_P(TextModelParity, Logits) {
  Pass pass = Pass::inference();
  const torch::Tensor expected = fixture_.tensor("answers");
  expect_close(model_->logits(batch_, pass).detach().view_as(expected), expected, "logits");
}

TEST_P(TextModelParity, EveryGradient) {
  backward();
  expect_gradients(*model_, fixture_);
}

TEST_P(TextModelParity, TheLossesOfTenUpdates) {
  expect_losses_of_updates(*model_, fixture_, [&] { return backward(); });
}

INSTANTIATE_TEST_SUITE_P(
    Models, TextModelParity,
    testing::Values(HeadCase{"classification", small_bert(), TaskKind::classification, &LabelledBatch::label_B},
                    HeadCase{"multi-label", small_bert(), TaskKind::multi_label, &LabelledBatch::labels_BL},
                    HeadCase{"regression", small_bert(), TaskKind::regression, &LabelledBatch::number_B},
                    HeadCase{"spans", small_bert(), TaskKind::spans},
                    HeadCase{"tags", small_bert(), TaskKind::tags, &LabelledBatch::tag_K},
                    HeadCase{"lstm_last", small_lstm(Pooling::last, 1), TaskKind::classification,
                             &LabelledBatch::label_B},
                    HeadCase{"lstm_alignment", small_lstm(Pooling::alignment, 2), TaskKind::classification,
                             &LabelledBatch::label_B}),
    [](const auto& instance) {
      std::string name = instance.param.name;
      std::erase(name, '-');
      return name;
    });

}  // namespace
}  // namespace attend
