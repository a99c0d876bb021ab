// What an encoder begins with, and the tokens that are wanted of it.
#include "models/bert/bert.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "models/layers/initialise.hpp"
#include "models/layers/layers.hpp"
#include "tests/support/parity.hpp"

namespace attend {
namespace {

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

}  // namespace
}  // namespace attend
