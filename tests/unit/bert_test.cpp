// What an encoder begins with, and the tokens that are wanted of it.
#include "models/bert/bert.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "models/bert/bert_config.hpp"
#include "models/layers/initialise.hpp"
#include "models/layers/layers.hpp"
#include "tests/support/parity.hpp"

namespace attend {
namespace {

torch::Tensor initial_positions(InitialPositions begin, Initialiser rule = Initialiser::of_family) {
  BertOptions options;
  options.width = 16;
  options.max_positions = 24;
  options.initial_deviation = 0.05;
  options.initial_positions = begin;
  const Bert bert(bert_config(options, /*vocabulary=*/30));
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

struct States {
  torch::Tensor hidden;
  std::vector<torch::Tensor> gradients;  // of a weighted sum of the hidden states, by every parameter
};

// Of three sentences of 3, 4 and 2 tokens.
States states_of(const BertOptions& options, const std::vector<std::int64_t>& rows, bool whole) {
  const Bert bert(bert_config(options, /*vocabulary=*/30));
  initialise(*bert, 1);
  const SegmentedSequences input{.tokens = sequences(torch::arange(9) * 3, torch::tensor({3, 4, 2})),
                                 .segments_M = torch::zeros({9}, torch::kLong)};
  const Selection wanted = select(rows, input.tokens.layout, torch::kCPU);
  Pass pass = Pass::inference();
  States states;
  states.hidden = whole ? wanted.of(bert->forward(input, pass)) : bert->forward(input, pass, wanted);
  (states.hidden * torch::arange(states.hidden.numel()).view_as(states.hidden)).sum().backward();
  for (const auto& parameter : bert->parameters()) states.gradients.push_back(parameter.grad().clone());
  return states;
}

TEST(BertWanted, TokensHaveTheStatesAndGradientsOfTheWhole) {
  BertOptions post;
  post.layers = 2;
  post.width = 24;
  post.block.heads = 3;
  post.max_positions = 8;
  BertOptions pre = post, shared = post, one = post;
  pre.block.norm = NormPlace::pre;
  shared.share_layers = true;
  one.layers = 1;
  for (const BertOptions& options : {post, pre, shared, one}) {
    for (const std::vector<std::int64_t>& rows :
         {std::vector<std::int64_t>{0, 3, 7}, {1, 2, 7, 8}, {5}, {0, 1, 2, 3, 4, 5, 6, 7, 8}}) {
      const States ours = states_of(options, rows, /*whole=*/false), theirs = states_of(options, rows, /*whole=*/true);
      EXPECT_LE((ours.hidden - theirs.hidden).abs().max().item<double>(), 1e-5);
      ASSERT_EQ(ours.gradients.size(), theirs.gradients.size());
      for (std::size_t i = 0; i < ours.gradients.size(); ++i) {
        const auto scale = theirs.gradients[i].abs().max().item<double>();
        EXPECT_LE((ours.gradients[i] - theirs.gradients[i]).abs().max().item<double>(), 1e-5 * std::max(scale, 1.0));
      }
    }
  }
}

TEST(BertWanted, NoToken) {
  BertOptions options;
  options.width = 24;
  EXPECT_EQ(states_of(options, {}, /*whole=*/false).hidden.sizes(), torch::IntArrayRef({0, 24}));
}

}  // namespace
}  // namespace attend
