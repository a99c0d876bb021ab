// Text models beside PyTorch: Hugging Face's BERT with the head of each task, and an LSTM with poolings
// (make_fixtures_poolings.py). Logits, every gradient, and ten updates.
#include "models/text/text_model.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>

#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "tests/support/parity.hpp"

namespace attend {
namespace {

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

struct Case {
  std::string name;
  TextModelOptions options;
  TaskKind kind;
  torch::Tensor LabelledBatch::*labels = nullptr;  // receives the fixture's labels; null: begin_B and end_B do
};

class TextModelParity : public testing::TestWithParam<Case> {
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
    testing::Values(Case{"classification", small_bert(), TaskKind::classification, &LabelledBatch::label_B},
                    Case{"multi-label", small_bert(), TaskKind::multi_label, &LabelledBatch::labels_BL},
                    Case{"regression", small_bert(), TaskKind::regression, &LabelledBatch::number_B},
                    Case{"spans", small_bert(), TaskKind::spans},
                    Case{"tags", small_bert(), TaskKind::tags, &LabelledBatch::tag_K},
                    Case{"lstm_last", small_lstm(Pooling::last, 1), TaskKind::classification, &LabelledBatch::label_B},
                    Case{"lstm_alignment", small_lstm(Pooling::alignment, 2), TaskKind::classification,
                         &LabelledBatch::label_B}),
    [](const auto& instance) {
      std::string name = instance.param.name;
      std::erase(name, '-');
      return name;
    });

}  // namespace
}  // namespace attend
