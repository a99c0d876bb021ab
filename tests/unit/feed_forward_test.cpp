// The feed-forward network of a block: gated forms against their equation, and the block without one.
#include "models/layers/sublayers.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "models/transformer/block.hpp"
#include "tests/support/layout.hpp"

namespace attend {
namespace {

using torch::Tensor;

class Owner : public torch::nn::Module {};

// Width 12, and an inner size of 20 in the plain form.
struct Network {
  explicit Network(FeedForwardKind activation, double dropout = 0)
      : network(owner, {.width = 12, .inner = 20, .activation = activation, .dropout = dropout}) {
    initialise(owner, 3);
    const at::NoGradGuard no_grad;
    at::manual_seed(4);
    for (const char* bias : {"linear1.bias", "linear2.bias"}) parameter(bias).normal_();
  }
  Tensor parameter(const std::string& name) const { return owner.named_parameters()[name]; }
  std::int64_t parameters() const {
    std::int64_t count = 0;
    for (const Tensor& parameter : owner.parameters()) count += parameter.numel();
    return count;
  }

  Owner owner;
  FeedForward network;
};

TEST(FeedForwardNetwork, GatesOneHalfByTheOther) {
  for (const auto kind : {FeedForwardKind::geglu, FeedForwardKind::swiglu}) {
    const Network gated(kind);
    const Tensor x = at::randn({7, 12});
    Pass pass = Pass::inference();
    const Tensor inner = at::linear(x, gated.parameter("linear1.weight"), gated.parameter("linear1.bias"));
    const Tensor first = inner.narrow(1, 0, 13), gate = inner.narrow(1, 13, 13);
    const Tensor active = kind == FeedForwardKind::geglu ? at::gelu(first) : first * at::sigmoid(first);
    const Tensor expected =
        at::linear(active * gate, gated.parameter("linear2.weight"), gated.parameter("linear2.bias"));
    EXPECT_LE((gated.network.forward(x, pass) - expected).abs().max().item<double>(), 1e-5) << name_of(kind);
  }
}

// 3 x 12 x 13 numbers for 2 x 12 x 20, biases of 26 and 12 for 20 and 12.
TEST(FeedForwardNetwork, GatedHasAboutAsManyParameters) {
  EXPECT_EQ(Network(FeedForwardKind::swish).parameters(), 480 + 32);
  EXPECT_EQ(Network(FeedForwardKind::swiglu).parameters(), 468 + 38);
}

// Xavier's bound is that of each map alone, sqrt(6 / (12 + 13)).
TEST(FeedForwardNetwork, GatedMapsAreInitialisedAsTwo) {
  const double largest = Network(FeedForwardKind::geglu).parameter("linear1.weight").abs().max().item<double>();
  EXPECT_LE(largest, std::sqrt(6.0 / 25));
  EXPECT_GT(largest, std::sqrt(6.0 / 38));
}

TEST(FeedForwardNetwork, GatedDropsInnerActivations) {
  const Network dropping(FeedForwardKind::swiglu, 0.5), keeping(FeedForwardKind::swiglu);
  const Tensor x = at::randn({7, 12});
  Pass training = Pass::train(1), inference = Pass::inference();
  const Tensor kept = keeping.network.forward(x, inference);
  EXPECT_FALSE(at::allclose(dropping.network.forward(x, training), kept));
  EXPECT_TRUE(at::allclose(dropping.network.forward(x, inference), kept));
}

TEST(FeedForwardNetwork, GatedRunsWithPackedWeights) {
  const at::NoGradGuard no_grad;
  for (const auto precision : {Precision::fp32, Precision::bf16, Precision::int8}) {
    Network gated(FeedForwardKind::swiglu);
    Pass pass = Pass::inference();
    const Tensor x = at::randn({7, 12}), expected = gated.network.forward(x, pass);
    visit_weights(gated.owner, [&](ops::Weight& weight) { weight.freeze(precision); });
    const Tensor y = gated.network.forward(precision == Precision::bf16 ? x.to(at::kBFloat16) : x, pass);
    const double tolerance = precision == Precision::fp32 ? 1e-5 : 0.05;
    EXPECT_LE((y.to(at::kFloat) - expected).abs().max().item<double>(), tolerance * expected.abs().max().item<double>())
        << name_of(precision);
  }
}

TEST(FeedForwardNetwork, OfSizeZeroIsNoSubLayer) {
  for (const NormPlace norm : {NormPlace::post, NormPlace::pre}) {
    const Stack stack(
        StackOptions{.layers = 2, .width = 12, .block = {.heads = 3, .feed_forward = 0, .norm = norm}, .dropout = 0},
        StackForm());
    initialise(*stack, 1);
    for (const auto& parameter : stack->named_parameters()) {
      EXPECT_EQ(parameter.key().find("linear"), std::string::npos) << parameter.key();
      EXPECT_EQ(parameter.key().find("norm2"), std::string::npos) << parameter.key();
    }
    Pass pass = Pass::train(1);
    const Layout layout = layout_of({5, 2});
    stack->forward(at::randn({7, 12}), {.layout = layout}, pass).pow(3).sum().backward();
    for (const auto& parameter : stack->named_parameters()) {
      EXPECT_TRUE(parameter.value().grad().defined()) << parameter.key();
    }
  }
}

}  // namespace
}  // namespace attend
