// Recurrent language models beside PyTorch, over two segments of each text: hidden states, the state carried from the
// first to the second, every gradient of both, and ten updates.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/language/language_options.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "tests/support/parity.hpp"

namespace attend {
namespace {

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

}  // namespace
}  // namespace attend
