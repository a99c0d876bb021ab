// Each family beside its formulation in PyTorch: hidden states, recurrent attention, every gradient, and ten updates.
#include "models/translation/seq2seq.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "eval/attention.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "models/translation/factory.hpp"
#include "tests/support/families.hpp"
#include "tests/support/parity.hpp"

namespace attend {
namespace {

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

}  // namespace
}  // namespace attend
