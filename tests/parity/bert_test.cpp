// BERT beside Hugging Face's BertForPreTraining: hidden states, both losses, every gradient, and ten updates.
#include "models/bert.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>

#include "models/layers.hpp"
#include "models/weights_io.hpp"
#include "tests/support/parity.hpp"

namespace attend {
namespace {

struct Variant {
  std::string name;  // of the fixture
  ops::Activation activation;
};

class BertParity : public testing::TestWithParam<Variant> {
 protected:
  BertParity()
      : fixture_(GetParam().name),
        model_(BertConfig{.vocabulary = 29,
                          .max_length = 17,
                          .layers = 2,
                          .embedding_width = 12,
                          .block = {.width = 12,
                                    .heads = 3,
                                    .feed_forward = 19,
                                    .activation = GetParam().activation,
                                    .norm_eps = 1e-12,
                                    .dropout = 0}}),
        batch_{.input = {.tokens = fixture_.sequences("ids", "lengths"), .segments_M = fixture_.tensor("segments")},
               .masked_K = fixture_.tensor("masked"),
               .labels_K = fixture_.tensor("labels"),
               .relations_B = fixture_.tensor("relations"),
               .lines = {}} {
    const at::NoGradGuard no_grad;
    for (const auto& [name, parameter] : parameters_of(*model_)) parameter.copy_(fixture_.tensor("weight." + name));
  }

  // Gradients land in the parameters; gives the loss.
  double backward() {
    for (const auto& parameter : model_->parameters()) parameter.mutable_grad().reset();
    Context context = Context::train(1);
    const auto losses = model_->forward(batch_, context);
    const torch::Tensor loss = losses.masked.loss / static_cast<double>(batch_.labels_K.size(0)) +
                               losses.sequence.loss / static_cast<double>(batch_.relations_B.size(0));
    loss.backward();
    return loss.item<double>();
  }

  Fixture fixture_;
  BertForPretraining model_;
  PretrainingBatch batch_;
};

TEST_P(BertParity, HiddenStates) {
  Context context = Context::inference();
  expect_close(model_->bert->forward(batch_.input, context).detach(), fixture_.tensor("hidden"), "hidden");
}

TEST_P(BertParity, BothLosses) {
  Context context = Context::inference();
  const auto losses = model_->forward(batch_, context);
  expect_close(losses.masked.loss.detach(), fixture_.tensor("masked_loss"), "masked_loss");
  expect_close(losses.sequence.loss.detach(), fixture_.tensor("sequence_loss"), "sequence_loss");
}

TEST_P(BertParity, EveryGradient) {
  backward();
  for (const auto& [name, parameter] : parameters_of(*model_)) {
    expect_close(parameter.grad(), fixture_.tensor("gradient." + name), name);
  }
}

TEST_P(BertParity, TheLossesOfTenUpdates) {
  expect_losses_of_updates(
      fixture_.tensor("losses"), model_->parameters(), [&] { return backward(); },
      [&] { visit_weights(*model_, [](ops::Weight& weight) { weight.refresh(); }); });
}

INSTANTIATE_TEST_SUITE_P(Activations, BertParity,
                         testing::Values(Variant{"bert", ops::Activation::gelu},
                                         Variant{"bert_gelu_tanh", ops::Activation::gelu_tanh}),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace attend
