// Norms against numbers computed by hand, and the places of norm and residual sum in a block against the equations.
#include "models/layers/norm.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "models/transformer/block.hpp"
#include "tests/support/layout.hpp"

namespace attend {
namespace {

using torch::Tensor;

Norm norm_of(NormKind kind, std::int64_t width, double eps) {
  Norm norm = make_norm(kind, width, eps);
  RandomStream random(1);
  norm->initialise(random);
  return norm;
}

void expect_near(const Tensor& found, const std::vector<float>& expected) {
  EXPECT_TRUE(at::allclose(found.flatten(), at::tensor(expected), 0, 1e-6)) << found;
}

TEST(Norm, LayerCentresARowAndRmsDoesNot) {
  const Tensor x = at::tensor({3.0F, 5.0F}).view({1, 2});  // mean 4, deviation 1, mean square 17
  const Pass pass = Pass::inference();
  expect_near(norm_of(NormKind::layer, 2, 0)->forward(x, pass), {-1, 1});
  const Norm rms = norm_of(NormKind::rms, 2, 0);
  const float root = std::sqrt(17.0F);
  expect_near(rms->forward(x, pass), {3 / root, 5 / root});
  EXPECT_FALSE(rms->bias.defined());
  EXPECT_EQ(rms->named_parameters().size(), 1U);
  const ops::AddNorm sum = rms->forward(x, x, {}, pass);
  expect_near(sum.sum, {6, 10});
  expect_near(sum.norm, {3 / root, 5 / root});
}

TEST(Norm, BatchUsesTheBatchInTrainingAndTheRunningStatisticsElsewhere) {
  const Norm norm = norm_of(NormKind::batch, 2, 0);
  const auto& statistics = dynamic_cast<const BatchNormImpl&>(*norm);
  const Tensor x = at::tensor({1.0F, 10.0F, 3.0F, 30.0F}).view({2, 2});  // two tokens; columns 1, 3 and 10, 30
  const Pass train = Pass::train(1);
  expect_near(norm->forward(x, train), {-1, -1, 1, 1});
  // A tenth of the means 2 and 20, and of the unbiased variances 2 and 200.
  expect_near(statistics.running_mean, {0.2F, 2});
  expect_near(statistics.running_var, {0.9F + 0.2F, 0.9F + 20});
  const Tensor mean = statistics.running_mean.clone(), var = statistics.running_var.clone();
  const Tensor expected = (x - mean) / var.sqrt();
  EXPECT_TRUE(at::allclose(norm->forward(x, Pass::inference()), expected));
  EXPECT_TRUE(at::allclose(norm->forward(x[0].unsqueeze(0), train), expected[0])) << "a single row";
  norm->weight.set_requires_grad(false);
  EXPECT_TRUE(at::allclose(norm->forward(x, train), expected)) << "a frozen norm";
  EXPECT_EQ(norm->forward(x.narrow(0, 0, 0), train).size(0), 0);
  EXPECT_TRUE(at::equal(statistics.running_mean, mean) && at::equal(statistics.running_var, var));
}

TEST(Norm, BatchIsComputedInFp32) {
  const Norm norm = norm_of(NormKind::batch, 1, 1e-5);
  // The mean of 257 values from 256 to 512 needs more than the 8 bits of bf16.
  const Tensor x = at::linspace(256, 512, 257).view({257, 1}).to(at::kBFloat16);
  const Tensor y = norm->forward(x, Pass::train(1));
  EXPECT_EQ(y.scalar_type(), at::kBFloat16);
  const Tensor wide = x.to(at::kDouble);
  const Tensor expected = (wide - wide.mean()) / wide.var(/*unbiased=*/false).sqrt();
  EXPECT_TRUE(at::allclose(y.to(at::kDouble), expected, 0, 0.008));
}

// A block made of its own parts.
struct Parts {
  explicit Parts(const TransformerBlockImpl& block) : children(block.named_children()) {}

  Tensor attend(const Tensor& x, const Layout& layout) const {
    Pass pass = Pass::inference();
    return children["self_attn"]->as<MultiHeadAttention>()->within(x, layout, nullptr, 0, pass);
  }
  Tensor feed_forward(const Tensor& x) const {
    return map("linear2", map("linear1", x, ops::Activation::relu), ops::Activation::none);
  }
  Tensor norm(const std::string& name, const Tensor& x) const {
    const auto parameters = children[name]->named_parameters();
    const Tensor* bias = parameters.find("bias");
    return ops::layer_norm(x, parameters["weight"], bias != nullptr ? *bias : Tensor(), 1e-5);
  }
  Tensor map(const char* name, const Tensor& x, ops::Activation activation) const {
    return children[name]->as<Linear>()->forward(x, activation);
  }

  torch::OrderedDict<std::string, std::shared_ptr<torch::nn::Module>> children;
};

Tensor block_by_hand(const Parts& parts, const BlockOptions& config, Tensor x, const Layout& layout) {
  const auto sub_layer = [&](const std::string& norm, const auto& f) {
    const Tensor read = config.norm == NormPlace::pre ? parts.norm(norm, x) : x;
    const Tensor sum = config.residual ? x + f(read) : f(read);
    x = config.norm == NormPlace::post ? parts.norm(norm, sum) : sum;
  };
  sub_layer("norm1", [&](const Tensor& read) { return parts.attend(read, layout); });
  sub_layer("norm2", [&](const Tensor& read) { return parts.feed_forward(read); });
  return x;
}

TEST(Block, NormsAndSumsStandWhereTheOptionsSay) {
  const Layout layout = layout_of({5, 1, 3});
  at::manual_seed(3);
  const Tensor x = at::randn({9, 12}) + 1;
  for (const NormPlace place : {NormPlace::post, NormPlace::pre, NormPlace::none}) {
    for (const NormKind kind : {NormKind::layer, NormKind::rms}) {
      for (const bool residual : {true, false}) {
        const BlockOptions config{
            .heads = 3, .feed_forward = 19, .norm = place, .norm_kind = kind, .residual = residual};
        const StackOptions stack{.width = 12, .block = config, .initial_deviation = 0};
        const TransformerBlock block(stack, StackForm(), /*layer=*/0);
        initialise(*block, 1);
        Pass pass = Pass::inference();
        const Tensor found = block->forward(x, {.stack = {.layout = layout}, .layout = layout}, pass);
        const Tensor expected = block_by_hand(Parts(*block), config, x, layout);
        const std::string what =
            std::string(name_of(place)) + ", " + std::string(name_of(kind)) + (residual ? "" : ", without residual");
        EXPECT_TRUE(at::allclose(found, expected, 1e-5, 1e-5)) << what;
        EXPECT_EQ(block->named_children().contains("norm1"), place != NormPlace::none) << what;
      }
    }
  }
}

TEST(Block, ALastNormStandsAfterPreNormAlone) {
  for (const NormPlace place : {NormPlace::post, NormPlace::pre, NormPlace::none}) {
    const BlockOptions block{.heads = 3, .feed_forward = 19, .norm = place, .norm_kind = NormKind::rms};
    const Stack stack(StackOptions{.layers = 2, .width = 12, .block = block}, StackForm());
    EXPECT_EQ(stack->named_parameters().contains("norm.weight"), place == NormPlace::pre) << name_of(place);
  }
}

}  // namespace
}  // namespace attend
