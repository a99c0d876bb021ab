// The parts of a block.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <cmath>
#include <string>
#include <vector>

#include "models/attention/recurrent_attention.hpp"
#include "models/bert/bert.hpp"
#include "models/layers/initialise.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/norm.hpp"
#include "models/layers/pass.hpp"
#include "models/ops/dispatch.hpp"
#include "models/transformer/block.hpp"
#include "models/transformer/sublayers.hpp"
#include "tests/support/layout.hpp"
#include "tests/support/parity.hpp"

namespace attend {
namespace {

// Norms against numbers computed by hand, and the places of norm and residual sum in a block against the equations.

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
struct BlockParts {
  explicit BlockParts(const TransformerBlockImpl& block) : children(block.named_children()) {}

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

Tensor block_by_hand(const BlockParts& parts, const BlockOptions& config, Tensor x, const Layout& layout) {
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
        const Tensor expected = block_by_hand(BlockParts(*block), config, x, layout);
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

// The feed-forward network of a block: gated forms against their equation, and the block without one.

class Owner : public torch::nn::Module {};

// Width 12, and an inner size of 20 in the plain form.
struct Network {
  explicit Network(FeedForwardKind activation)
      : network(owner, {.width = 12, .block = {.feed_forward = 20, .activation = activation}, .initial_deviation = 0}) {
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

// What an encoder begins with, and the tokens that are wanted of it.

torch::Tensor initial_positions(InitialPositions begin, Initialiser rule = Initialiser::of_family) {
  StackOptions options;
  options.width = 16;
  options.max_positions = 24;
  options.initial_deviation = 0.05;
  options.initial_positions = begin;
  const Bert bert(options, /*vocabulary=*/30);
  initialise(*bert, {.matrices = rule}, 1);
  return bert->named_parameters()["embeddings.position_embeddings.weight"].detach();
}

TEST(BertBegins, WithPositionsOfTheDeviation) {
  for (const auto begin : {InitialPositions::random, InitialPositions::sinusoids}) {
    EXPECT_NEAR(initial_positions(begin).pow(2).mean().sqrt().item<double>(), 0.05, 0.01) << name_of(begin);
  }
}

TEST(BertBegins, WithSinusoidsWhoseProductsDependOnTheDistanceAlone) {
  const torch::Tensor table = initial_positions(InitialPositions::sinusoids);
  const torch::Tensor products = table.matmul(table.t());
  for (const std::int64_t distance : {1, 5}) {
    const torch::Tensor of_distance = products.diagonal(distance);
    EXPECT_LT((of_distance - of_distance[0]).abs().max().item<double>(), 1e-6);
    EXPECT_LT(of_distance[0].item<double>(), products[0][0].item<double>());
  }
}

TEST(BertBegins, WithSinusoidsWhateverTheInitialiser) {
  const auto begins = [](InitialPositions begin, Initialiser rule) {
    return torch::equal(initial_positions(begin, rule), initial_positions(begin));
  };
  EXPECT_TRUE(begins(InitialPositions::sinusoids, Initialiser::uniform));
  EXPECT_FALSE(begins(InitialPositions::random, Initialiser::uniform));
}

TEST(BertWanted, NoToken) {
  StackOptions options;
  options.width = 24;
  const Bert bert(options, /*vocabulary=*/30);
  initialise(*bert, 1);
  const SegmentedSequences input{.tokens = sequences(torch::arange(9) * 3, torch::tensor({3, 4, 2})),
                                 .segments_M = torch::zeros({9}, torch::kLong)};
  Pass pass = Pass::inference();
  EXPECT_EQ(bert->forward(input, pass, select({}, input.tokens.layout, torch::kCPU)).sizes(),
            torch::IntArrayRef({0, 24}));
}

// A step of recurrent attention is one fused op for every score that has one, without and with coverage, in every
// scope. That it gives what the plain formulation gives is a property of every model (property/seq2seq_test.cpp).

TEST(RecurrentAttention, AStepIsFused) {
  const at::NoGradGuard no_grad;
  const Layout source = layout_of({3, 7, 1});
  const at::Tensor memory_SW = at::randn({source.num_tokens(), 13}), query_RH = at::randn({2, 13});
  for (const ScoreKind score : {ScoreKind::dot, ScoreKind::scaled_dot, ScoreKind::general, ScoreKind::additive}) {
    for (const auto& [scope, name] : kEnumNames<ScopeKind>) {
      for (const CoverageKind coverage : {CoverageKind::none, CoverageKind::additive}) {
        SCOPED_TRACE(std::string(name_of(score)) + ", " + std::string(name) + ", " + std::string(name_of(coverage)));
        const Attention attention({.score = score,
                                   .scope = scope,
                                   .half_width = 2,
                                   .coverage = coverage,
                                   .query_width = 13,
                                   .memory_width = 13});
        torch::nn::Module model;
        attention.register_in(model);
        initialise(model, 1);
        const Keys keys{.keys_SA = attention.score().prepare(memory_SW), .values_SW = memory_SW, .layout = source};
        const auto makes_weights = [&] {
          AttentionState state{.memory = MemoryRows(keys, {2, 0}), .coverage_RS = {}, .weights_RS = {}};
          Pass pass = Pass::inference();
          attention.context(query_RH, state, pass);
          return state.weights_RS.defined();
        };
        EXPECT_FALSE(makes_weights());
        const ops::Unrolled unrolled;
        EXPECT_TRUE(makes_weights());
      }
    }
  }
}

}  // namespace
}  // namespace attend
