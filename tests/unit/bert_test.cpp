// What an encoder begins with.
#include "models/bert.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "models/bert_config.hpp"
#include "models/layers.hpp"

namespace attend {
namespace {

torch::Tensor initial_positions(InitialPositions begin) {
  BertOptions options;
  options.width = 16;
  options.positions = 24;
  options.initial_deviation = 0.05;
  options.initial_positions = begin;
  const Bert bert(bert_config(options, /*vocabulary=*/30));
  initialise(*bert, 1);
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

}  // namespace
}  // namespace attend
