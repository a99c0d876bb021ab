// Scopes that add biases by distance: their numbers by hand.
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "models/attention/relative_positions.hpp"
#include "models/attention/scopes.hpp"

namespace attend {
namespace {

using torch::Tensor;

constexpr float kOutside = -std::numeric_limits<float>::infinity();

std::shared_ptr<Scope> all_positions() { return std::make_shared<GlobalScope>(); }

// The biases [T, S] of the first head for queries number 0 … S - 1 of a sentence.
Tensor biases_of(const Scope& scope, std::int64_t length) {
  const Places places{.padding_1S = torch::zeros({1, 1, 1, length}, torch::kBool)};
  return scope.window(torch::zeros({1, 2, length, 3}), places).bias_TS[0];
}

// The numbers of the buckets of distances, in the second of two heads.
std::vector<std::int64_t> buckets_of(bool causal, const std::vector<std::int64_t>& distances) {
  const at::NoGradGuard no_grad;
  const T5Scope scope(all_positions(), /*heads=*/2, /*width=*/8, causal);
  Tensor table = scope.named_parameters()["table"];
  table[0].zero_();
  table[1].copy_(torch::arange(32));
  std::vector<std::int64_t> buckets;
  for (const std::int64_t distance : distances) {
    buckets.push_back(scope.biases_DN(scope.rows_of(torch::tensor({distance})))[0][1].item<std::int64_t>());
  }
  return buckets;
}

TEST(T5, HasTheBucketsOfAnEncoder) {
  EXPECT_EQ(buckets_of(false, {0, -1, -7, -8, -11, -12, -15, -16, -22, -23, -32, -64, -90, -91, -127, -128, -1000}),
            (std::vector<std::int64_t>{0, 1, 7, 8, 8, 9, 9, 10, 10, 11, 12, 14, 14, 15, 15, 15, 15}));
  EXPECT_EQ(buckets_of(false, {1, 7, 8, 15, 16, 127, 128, 1000}),
            (std::vector<std::int64_t>{17, 23, 24, 25, 26, 31, 31, 31}));
}

TEST(T5, HasTheBucketsOfADecoder) {
  EXPECT_EQ(buckets_of(true, {0, -1, -7, -8, -15, -16, -22, -32, -64, -90, -127, -128, -1000}),
            (std::vector<std::int64_t>{0, 1, 7, 8, 15, 16, 18, 21, 26, 29, 31, 31, 31}));
}

TEST(T5, LearnsFromTheBuckets) {
  T5Scope scope(all_positions(), /*heads=*/2, /*width=*/8, /*causal=*/false);
  RandomStream random(1);
  scope.initialise(random);
  const Tensor table = scope.named_parameters()["table"];
  EXPECT_GT(table.detach().std().item<double>(), 0.2);  // 1 / sqrt(8) = 0.35
  EXPECT_LT(table.detach().std().item<double>(), 0.5);
  biases_of(scope, 3).sum().backward();
  Tensor expected = torch::zeros({2, 32});
  expected[0][0] = 3, expected[0][1] = expected[0][17] = 2, expected[0][2] = expected[0][18] = 1;
  EXPECT_TRUE(torch::equal(table.grad(), expected)) << table.grad();
}

TEST(SelfWindow, HasTheWindowOfItsExample) {
  const Tensor third = biases_of(SelfWindowScope(all_positions(), 1), 4)[2];
  EXPECT_TRUE(torch::equal(third, torch::tensor({kOutside, 0.0f, 0.0f, 0.0f}))) << third;
  const SelfWindowScope causal(std::make_shared<CausalScope>(), 1);
  const Places newest{.padding_1S = torch::zeros({1, 1, 1, 4}, torch::kBool), .first = 3};
  const Window step = causal.window(torch::zeros({1, 2, 1, 2}), newest);
  EXPECT_TRUE(torch::equal(step.bias_TS.flatten(), torch::tensor({kOutside, kOutside, 0.0f, 0.0f})));
  EXPECT_EQ(causal.window(torch::zeros({1, 2, 4, 2}), {.padding_1S = newest.padding_1S})
                .outside_TS.sum()
                .item<std::int64_t>(),
            6);
}

TEST(DistanceScope, AddsToTheScopeWithin) {
  // Of one head alibi has the slope 1 / 256.
  const AlibiScope scope(std::make_shared<SelfWindowScope>(all_positions(), 1), /*heads=*/1);
  const Tensor expected = torch::tensor({{0.0f, -1.0f, kOutside}, {-1.0f, 0.0f, -1.0f}, {kOutside, -1.0f, 0.0f}}) / 256;
  EXPECT_TRUE(torch::equal(biases_of(scope, 3), expected));

  ops::HeadsForm form{.longest = 3};
  ASSERT_TRUE(scope.describe_heads(form));
  EXPECT_FALSE(form.causal);
  EXPECT_TRUE(torch::equal(form.biases_ND, torch::tensor({{kOutside, -1.0f, 0.0f, -1.0f, kOutside}}) / 256));
}

TEST(DistanceScope, KnowsChosenQueries) {
  // The second token of a sentence of three, and the first of one of two.
  const Places places{.padding_1S = torch::tensor({{{{false, false, false}}}, {{{false, false, true}}}}),
                      .chosen_T1 = torch::tensor({1, 0}).view({2, 1, 1, 1})};
  const Window window = AlibiScope(all_positions(), /*heads=*/2).window(torch::zeros({2, 2, 1, 4}), places);
  ASSERT_EQ(window.bias_TS.sizes(), at::IntArrayRef({2, 2, 1, 3}));
  // Slopes 1 / 16 and 1 / 256.
  EXPECT_TRUE(torch::equal(window.bias_TS[0][0][0], torch::tensor({-1.0f, 0.0f, -1.0f}) / 16));
  EXPECT_TRUE(torch::equal(window.bias_TS[1][1][0], torch::tensor({0.0f, -1.0f, -2.0f}) / 256));
}

TEST(DistanceScope, HasAFusedFormOfTheScopesWithinThatHaveOne) {
  ops::HeadsForm form{.longest = 2};
  EXPECT_TRUE(AlibiScope(std::make_shared<CausalScope>(), 2).describe_heads(form));
  EXPECT_TRUE(form.causal);
  EXPECT_EQ(form.biases_ND.sizes(), at::IntArrayRef({2, 3}));
  class Unknown final : public GlobalScope {
    bool describe_heads(ops::HeadsForm& /*form*/) const override { return false; }
  };
  EXPECT_FALSE(AlibiScope(std::make_shared<Unknown>(), 2).describe_heads(form));
}

// (q_i + v - u)ᵀ W_kR R_(i-j) / sqrt(D), whichever queries of the sentence ask.
TEST(TransformerXl, AddsTheProductOfAQueryAndASinusoid) {
  const at::NoGradGuard no_grad;
  constexpr std::int64_t kLength = 4;
  const Tensor queries = torch::randn({1, 2, kLength, 3}), padding = torch::zeros({1, 1, 1, kLength}, torch::kBool);
  for (const bool causal : {false, true}) {
    TransformerXlScope scope(all_positions(), /*heads=*/2, /*width=*/3, /*columns=*/6, causal);
    RandomStream random(1);
    scope.initialise(random);
    const Tensor positions = scope.named_parameters()["positions"];
    Tensor bias = scope.named_parameters()["bias"];
    bias.copy_(torch::randn(bias.sizes()));
    const Tensor found = scope.window(queries, {.padding_1S = padding}).bias_TS;
    ASSERT_EQ(found.sizes(), at::IntArrayRef({1, 2, kLength, kLength}));
    for (std::int64_t h = 0; h < 2; ++h) {
      for (std::int64_t i = 0; i < kLength; ++i) {
        for (std::int64_t j = 0; j < (causal ? i + 1 : kLength); ++j) {
          const Tensor key = positions[h].mv(sinusoids(i - j, 1, 6)[0]);
          EXPECT_NEAR(found[0][h][i][j].item<double>(),
                      (queries[0][h][i] + bias[h][0]).dot(key).item<double>() / std::sqrt(3.0), 1e-5);
        }
      }
    }
    const Tensor chosen = torch::tensor({1, 3}, torch::kLong);
    const Places places{.padding_1S = padding, .chosen_T1 = chosen.view({1, 1, 2, 1})};
    const Tensor of_chosen = scope.window(queries.index_select(2, chosen), places).bias_TS;
    EXPECT_TRUE(at::allclose(of_chosen, found.index_select(2, chosen), 1e-5, 1e-5));
  }
}

// A step of decoding needs one distance more than the step before it.
TEST(TransformerXl, ComputesItsSinusoidsOnce) {
  TransformerXlScope scope(all_positions(), /*heads=*/2, /*width=*/3, /*columns=*/6, /*causal=*/true);
  RandomStream random(1);
  scope.initialise(random);
  const Tensor sinusoids = scope.named_buffers()["sinusoids.rows"];
  int computed = 0;
  for (std::int64_t step = 1; step <= 400; ++step) {
    const void* const before = sinusoids.const_data_ptr();
    const c10::InferenceMode inference;
    ops::HeadsForm form{.longest = step, .newest_RH = torch::ones({2, 6})};
    ASSERT_TRUE(scope.describe_heads(form));
    EXPECT_EQ(form.biases_RNL.sizes(), at::IntArrayRef({2, 2, step}));
    computed += sinusoids.const_data_ptr() != before ? 1 : 0;
  }
  EXPECT_LE(computed, 11);
  EXPECT_GE(sinusoids.size(0), 400);
  // Rows that inference computed serve training as well.
  biases_of(scope, 400).sum().backward();
  EXPECT_GT(scope.named_parameters()["bias"].grad().abs().max().item<double>(), 0);
}

}  // namespace
}  // namespace attend
