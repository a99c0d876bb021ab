// BERT with the head of each task beside Hugging Face's: answers, every gradient, and ten updates.
#include "models/bert/text_model.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "tests/support/parity.hpp"

namespace attend {
namespace {

TextModelOptions small_bert() {
  return {.encoder = {.layers = 2,
                      .width = 12,
                      .heads = 3,
                      .feed_forward = 19,
                      .embedding_width = {},
                      .positions = 17,
                      .dropout = 0,
                      .attention_dropout = 0}};
}

class TextModelParity : public testing::TestWithParam<TaskKind> {
 protected:
  TextModelParity()
      : fixture_("text_model_" + std::string(name_of(GetParam()))),
        model_(small_bert(), GetParam(), fixture_.tensor("weight.classifier.bias").size(0), /*pairs=*/true, 29),
        batch_{.input = {.tokens = fixture_.sequences("ids", "lengths"), .segments_M = fixture_.tensor("segments")},
               .labels = fixture_.tensor("labels"),
               .places = fixture_.has("places") ? numbers(fixture_.tensor("places")) : std::vector<std::int64_t>()} {
    const at::NoGradGuard no_grad;
    for (const auto& [name, parameter] : parameters_of(*model_)) parameter.copy_(fixture_.tensor("weight." + name));
  }

  double backward() {
    for (const auto& parameter : model_->parameters()) parameter.mutable_grad().reset();
    Pass pass = Pass::train(1);
    const torch::Tensor loss =
        model_->loss(model_->answers(batch_, pass), batch_, {}) / static_cast<double>(model_->count(batch_));
    loss.backward();
    return loss.item<double>();
  }

  Fixture fixture_;
  TextModel model_;
  LabelledBatch batch_;
};

TEST_P(TextModelParity, Answers) {
  Pass pass = Pass::inference();
  expect_close(model_->answers(batch_, pass).detach(), fixture_.tensor("answers"), "answers");
}

TEST_P(TextModelParity, EveryGradient) {
  backward();
  for (const auto& [name, parameter] : parameters_of(*model_)) {
    expect_close(parameter.grad(), fixture_.tensor("gradient." + name), name);
  }
}

TEST_P(TextModelParity, TheLossesOfTenUpdates) {
  expect_losses_of_updates(
      fixture_.tensor("losses"), model_->parameters(), [&] { return backward(); }, [&] { refresh_weights(*model_); });
}

INSTANTIATE_TEST_SUITE_P(Tasks, TextModelParity,
                         testing::Values(TaskKind::classification, TaskKind::multi_label, TaskKind::regression,
                                         TaskKind::spans, TaskKind::tags),
                         [](const auto& instance) {
                           std::string name(name_of(instance.param));
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace attend
