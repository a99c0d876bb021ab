// Two-stream attention beside a formulation in PyTorch that computes one token at a time: the query stream, the loss,
// every gradient, and ten updates.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>

#include "models/bert/bert.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "tests/support/parity.hpp"

namespace attend {
namespace {

BertForPretraining permuted_model_of(const Fixture& fixture, PositionKind positions) {
  BertForPretraining model(BertConfig{.vocabulary = 17,
                                      .max_length = 9,
                                      .layers = 2,
                                      .embedding_width = 8,
                                      .query = 4,
                                      .block = {.width = 8,
                                                .heads = 2,
                                                .positions = positions,
                                                .longest = 9,
                                                .feed_forward = 11,
                                                .activation = FeedForwardKind::gelu,
                                                .norm_eps = 1e-12,
                                                .dropout = 0}});
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
