// Every pooling beside PyTorch (make_fixtures_poolings.py): outputs and all gradients, for two texts per sequence, one
// of them empty.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>

#include "models/layers/weights_io.hpp"
#include "models/text/pooling.hpp"
#include "tests/support/parity.hpp"

namespace attend {
namespace {

class PoolingParity : public testing::TestWithParam<Pooling> {};

TEST_P(PoolingParity, OutputAndEveryGradient) {
  const Fixture fixture("poolings");
  const std::string name(name_of(GetParam()));
  const SegmentedSequences input{.tokens = fixture.sequences("ids", "lengths"),
                                 .segments_M = fixture.tensor("segments")};
  const torch::Tensor hidden_MH = fixture.tensor("hidden").set_requires_grad(true);
  const torch::Tensor last_BH = fixture.tensor("last").set_requires_grad(true);
  const auto pooling = make_pooling(GetParam(), hidden_MH.size(1), 0);
  pooling->to(test_device());
  {
    const at::NoGradGuard no_grad;
    for (const auto& [parameter, tensor] : parameters_of(*pooling)) {
      tensor.copy_(fixture.tensor(name + ".weight." + parameter));
    }
  }
  const Layout& layout = input.tokens.layout;
  const torch::Tensor read =
      pooling->reads_first() ? select(first_rows(layout), layout, test_device()).of(hidden_MH) : hidden_MH;
  Pass pass = Pass::inference();
  const torch::Tensor output = pooling->forward({read, last_BH}, input, pass);
  expect_close(output.detach(), fixture.tensor(name + ".output"), "output");
  (output * fixture.tensor("upstream")).sum().backward();
  const auto expect_gradient = [&](const torch::Tensor& of, const std::string& what) {
    const torch::Tensor found = of.grad().defined() ? of.grad() : torch::zeros_like(of);
    expect_close(found, fixture.tensor(name + ".gradient." + what), what);
  };
  expect_gradient(hidden_MH, "hidden");
  expect_gradient(last_BH, "last");
  for (const auto& [parameter, tensor] : parameters_of(*pooling)) expect_gradient(tensor, parameter);
}

INSTANTIATE_TEST_SUITE_P(Poolings, PoolingParity,
                         testing::Values(Pooling::cls, Pooling::last, Pooling::mean, Pooling::attention,
                                         Pooling::alignment),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

}  // namespace
}  // namespace attend
