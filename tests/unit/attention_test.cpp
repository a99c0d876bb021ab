// The parts of attention.
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/attention/memory_rows.hpp"
#include "models/attention/parts.hpp"
#include "models/attention/recurrent_attention.hpp"
#include "models/attention/relative_positions.hpp"
#include "models/attention/scopes.hpp"
#include "models/attention/scores.hpp"
#include "models/attention/weights.hpp"
#include "models/ops/ops.hpp"
#include "models/translation/config.hpp"
#include "tests/support/layout.hpp"

namespace attend {
namespace {

// The parts of attention: the examples at the head of each score's file, and the rows that a step reads.

using torch::Tensor;

// (1 0), (0 1) and a sentence of one position.
const Tensor kMemory = torch::tensor({{1.0f, 0.0f}, {0.0f, 1.0f}, {5.0f, 5.0f}});
const Layout kLayout{.offsets = {0, 2, 3}, .max_length = 2};
const ScoreWidths kWidths{.query_width = 2, .memory_width = 2};

Places places_of(const MemoryRows& rows, std::int64_t step = 0) {
  return {.padding_1S = rows.padding_RS().unsqueeze(1), .first = step};
}

// The weights of query (1 2) over each sentence.
Tensor weights_of(const Score& score) {
  const Keys keys{.keys_SA = score.prepare(kMemory), .values_SW = kMemory, .layout = kLayout};
  const MemoryRows rows(keys, {0, 1});
  const Tensor queries_R1H = torch::tensor({{{1.0f, 2.0f}}, {{1.0f, 2.0f}}});
  const Tensor energies_R1S = score.energies(queries_R1H, rows.keys_RSA(), places_of(rows));
  return GlobalScope().window(queries_R1H, places_of(rows)).softmax(energies_R1S).squeeze(1);
}

TEST(Scores, DotHasTheWeightsOfItsExample) {
  const Tensor expected = torch::tensor({{0.26894143f, 0.73105857f}, {1.0f, 0.0f}});
  EXPECT_TRUE(torch::allclose(weights_of(DotScore()), expected, 1e-6, 1e-6));
}

TEST(Scores, ScaledDotHasTheWeightsOfItsExample) {
  const Tensor expected = torch::tensor({{0.33023845f, 0.66976155f}, {1.0f, 0.0f}});
  EXPECT_TRUE(torch::allclose(weights_of(ScaledDotScore()), expected, 1e-6, 1e-6));
}

TEST(Scores, GeneralHasTheWeightsOfItsExample) {
  const at::NoGradGuard no_grad;
  GeneralScore score(kWidths);
  score.named_parameters()["key.weight"].copy_(torch::tensor({{0.0f, 1.0f}, {1.0f, 0.0f}}));
  const Tensor expected = torch::tensor({{0.73105857f, 0.26894143f}, {1.0f, 0.0f}});
  EXPECT_TRUE(torch::allclose(weights_of(score), expected, 1e-6, 1e-6));
}

// A score whose key map is the identity, with the memory's rows as keys.
template <class S>
S with_identity() {
  const at::NoGradGuard no_grad;
  S score(kWidths);
  score.named_parameters()["key.weight"].copy_(torch::eye(2));
  return score;
}

// The weights over rows (1 0), (0 1) of a query.
Tensor weights_of(const Score& score, std::vector<float> query) {
  const at::NoGradGuard no_grad;
  return torch::softmax(score.energies(torch::tensor(query).unsqueeze(0), score.prepare(kMemory.narrow(0, 0, 2)), {}),
                        -1);
}

TEST(Scores, AdditiveHasTheWeightsOfItsExample) {
  const at::NoGradGuard no_grad;
  AdditiveScore score(kWidths);
  auto parameters = score.named_parameters();
  parameters["key.weight"].copy_(torch::tensor({{-1.0f, 1.0f}, {0.0f, 1.0f}}));  // of (1 0), (0 1): (-1 0), (1 1)
  parameters["query.weight"].copy_(torch::eye(2));
  parameters["energy.weight"].fill_(1);
  const Tensor energies = score.energies(torch::tensor({{1.0f, 0.0f}}), score.prepare(kMemory.narrow(0, 0, 2)), {});
  EXPECT_TRUE(torch::allclose(energies, torch::tensor({{0.0f, 1.7256217f}}), 1e-6, 1e-6)) << energies;
}

TEST(Scores, LocationHasTheWeightsOfItsExample) {
  const at::NoGradGuard no_grad;
  LocationScore score({.query_width = 2, .longest = 3});
  score.named_parameters()["position.weight"].copy_(torch::tensor({{0.0f, 0.0f}, {1.0f, 0.0f}, {2.0f, 0.0f}}));
  EXPECT_TRUE(torch::allclose(weights_of(score, {1, 5}), torch::tensor({{0.26894143f, 0.73105857f}}), 1e-6, 1e-6));
  EXPECT_THROW(score.energies(torch::zeros({1, 2}), torch::zeros({4, 1}), {}), std::logic_error);
}

TEST(Scores, RbfHasTheWeightsOfItsExample) {
  const at::NoGradGuard no_grad;
  auto score = with_identity<RbfScore>();
  score.named_parameters()["log_precision"].zero_();
  EXPECT_TRUE(torch::allclose(weights_of(score, {1, 0}), torch::tensor({{0.88079708f, 0.11920292f}}), 1e-6, 1e-6));
}

TEST(Scores, Elu1HasTheWeightsOfItsExample) {
  EXPECT_TRUE(torch::allclose(weights_of(with_identity<Elu1Score>(), {1, 0}), torch::tensor({{5 / 9.0f, 4 / 9.0f}}),
                              1e-6, 1e-6));
}

TEST(Scores, CosineHasTheEnergiesOfItsExample) {
  const at::NoGradGuard no_grad;
  CosineScore score(kWidths);
  RandomStream random(1);
  score.initialise(random);
  Tensor scale = score.named_parameters()["scale"];
  EXPECT_NEAR(scale.item<double>(), 9.954196, 1e-6);
  scale.fill_(10);
  const Tensor keys = score.prepare(torch::tensor({{1.0f, 0.0f}, {0.0f, 2.0f}, {0.0f, 0.0f}}));
  for (const float length : {1e-3f, 5.0f, 1e3f}) {
    const Tensor query = length * torch::tensor({{0.6f, 0.8f}});
    EXPECT_TRUE(torch::allclose(score.energies(query, keys, {}), torch::tensor({{6.0f, 8.0f, 0.0f}}), 1e-5, 1e-5));
  }
}

// Four positions and a sentence of two, which its neighbour pads.
TEST(Scopes, LocalMonotonicHasTheWindowsOfItsExample) {
  const Keys keys{.keys_SA = torch::zeros({6, 1}), .values_SW = torch::zeros({6, 1}), .layout = layout_of({4, 2})};
  const MemoryRows memory(keys, {0, 1});
  const LocalMonotonicScope scope(1);
  const auto inside = [&](std::int64_t step) {
    return scope.window(torch::zeros({2, 1, 1}), places_of(memory, step))
        .outside_TS.logical_not()
        .squeeze(1)
        .to(torch::kInt);
  };
  EXPECT_TRUE(torch::equal(inside(0), torch::tensor({{1, 1, 0, 0}, {1, 1, 0, 0}}, torch::kInt)));
  EXPECT_TRUE(torch::equal(inside(1), torch::tensor({{1, 1, 1, 0}, {1, 1, 0, 0}}, torch::kInt)));
  EXPECT_TRUE(torch::equal(inside(9), torch::tensor({{0, 0, 1, 1}, {1, 1, 0, 0}}, torch::kInt)));
}

TEST(Scopes, LocalPredictiveHasTheFactorsOfItsExample) {
  const at::NoGradGuard no_grad;
  LocalPredictiveScope scope(1, 2);
  auto parameters = scope.named_parameters();
  parameters["inner.weight"].fill_(1);
  parameters["centre.weight"].fill_(static_cast<float>(std::log(0.375 / 0.625) / std::tanh(1.0)));  // p = 4 · 0.375
  const Window window = scope.window(torch::ones({1, 1}), {.padding_1S = torch::zeros({1, 4}, torch::kBool)});
  const Tensor expected = torch::tensor({{0.32465247f, 0.88249690f, 0.88249690f, 0.32465247f}});
  EXPECT_TRUE(torch::allclose(window.factor_TS, expected, 1e-5, 1e-6)) << window.factor_TS;
  EXPECT_EQ(window.outside_TS.sum().item<std::int64_t>(), 0);
}

// Queries of a whole sentence, or the third alone, over four positions.
Window alibi_window(std::int64_t heads, const std::shared_ptr<Scope>& within, std::int64_t queries,
                    std::int64_t first) {
  const Places places{.padding_1S = torch::zeros({1, 1, 1, 4}, torch::kBool), .first = first};
  return AlibiScope(within, heads).window(torch::zeros({1, heads, queries, 2}), places);
}

TEST(Scopes, AlibiHasTheSlopesOfThePaper) {
  const auto slopes = [](std::int64_t heads) {
    return -alibi_window(heads, std::make_shared<GlobalScope>(), 1, 0).bias_TS.select(2, 1).flatten();
  };
  EXPECT_TRUE(torch::allclose(slopes(8), torch::exp2(-torch::arange(1, 9).to(torch::kFloat)), 1e-6, 0));
  const Tensor twelve =
      torch::tensor({-1.0f, -2.0f, -3.0f, -4.0f, -5.0f, -6.0f, -7.0f, -8.0f, -0.5f, -1.5f, -2.5f, -3.5f});
  EXPECT_TRUE(torch::allclose(slopes(12), torch::exp2(twelve), 1e-6, 0)) << slopes(12);
  EXPECT_TRUE(torch::allclose(slopes(3), torch::tensor({1 / 16.0f, 1 / 256.0f, 1 / 4.0f}), 1e-6, 0));
  EXPECT_TRUE(torch::allclose(slopes(1), torch::tensor({1 / 256.0f}), 1e-6, 0));
}

TEST(Scopes, AlibiLowersEnergiesByTheDistance) {
  const Tensor distances =
      torch::tensor({{0.0f, 1.0f, 2.0f, 3.0f}, {1.0f, 0.0f, 1.0f, 2.0f}, {2.0f, 1.0f, 0.0f, 1.0f}});
  const Window encoder = alibi_window(8, std::make_shared<GlobalScope>(), 3, 0);
  EXPECT_TRUE(torch::equal(encoder.bias_TS[1], distances / -4));
  EXPECT_EQ(encoder.outside_TS.sum().item<std::int64_t>(), 0);
  const Window step = alibi_window(8, std::make_shared<CausalScope>(), 1, 2);
  EXPECT_TRUE(torch::equal(step.bias_TS[1], distances.narrow(0, 2, 1) / -4));
  EXPECT_TRUE(torch::equal(step.outside_TS.flatten(), torch::tensor({false, false, false, true})));
}

TEST(Coverage, EntersTheKeys) {
  const at::NoGradGuard no_grad;
  const Coverage coverage(2);
  coverage.named_parameters()["weight"].copy_(torch::tensor({1.0f, -2.0f}));
  const Tensor keys = coverage.add_to(torch::ones({1, 2, 2}), torch::tensor({{0.5f, 0.0f}}));
  EXPECT_TRUE(torch::equal(keys, torch::tensor({{{1.5f, 0.0f}, {1.0f, 1.0f}}})));
}

TEST(MemoryRows, AreSelectedAndKept) {
  const Keys keys{.keys_SA = kMemory, .values_SW = 2 * kMemory, .layout = kLayout};
  MemoryRows rows = MemoryRows(keys, {0, 1}).select(std::vector<std::int64_t>{1, 0, 1});
  EXPECT_EQ(rows.sentences(), (std::vector<std::int64_t>{1, 0, 1}));
  EXPECT_TRUE(torch::equal(rows.keys_RSA()[0], torch::tensor({{5.0f, 5.0f}, {0.0f, 0.0f}})));
  EXPECT_TRUE(torch::equal(rows.values_RSW()[1], torch::tensor({{2.0f, 0.0f}, {0.0f, 2.0f}})));
  EXPECT_TRUE(torch::equal(rows.padding_RS()[2], torch::tensor({false, true})));
  rows.keep_first(1);
  EXPECT_EQ(rows.sentences(), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(rows.padding_RS().size(0), 1);
}

TEST(Scores, HelpNamesThoseThatHalveAnEncoder) {
  const ModelConfig config;
  const BoundOptions options = bind(config);
  const std::string help(find_option(options, "score")->traits.help);
  const std::string halves = help.substr(help.find("in recurrent models with"));
  for (const auto& [kind, name] : kEnumNames<ScoreKind>) {
    EXPECT_EQ(halves.find(" " + std::string(name)) != halves.npos, recipe_of(kind).needs_equal_widths) << name;
  }
}

// Scopes that add biases by distance: their numbers by hand.

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
