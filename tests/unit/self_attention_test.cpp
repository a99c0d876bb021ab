// What stands in for self-attention: the examples at the head of each file, and the parameters that are left.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "models/attention/multi_head.hpp"
#include "models/attention/scores.hpp"
#include "models/attention/synthesizers.hpp"
#include "models/transformer/sublayers.hpp"
#include "tests/support/layout.hpp"

namespace attend {
namespace {

using torch::Tensor;

// Sentences of the given lengths, padded, with an axis of heads.
Places places_of_lengths(const std::vector<std::int64_t>& lengths) {
  const Layout layout = layout_of(lengths);
  return {.padding_1S = layout.on(torch::kCPU).padding_BT.unsqueeze(1).unsqueeze(1)};
}

// The weights of all queries over their sentences; vectors of `score` do not matter unless they are given.
Tensor weights_in(const Score& score, const Places& places, const Tensor& queries_BNTH,
                  const Scope& scope = GlobalScope()) {
  const Tensor energies_BNTS = score.energies(queries_BNTH, score.prepare(queries_BNTH), places);
  return scope.window(queries_BNTH, places).softmax(energies_BNTS);
}

void expect_near_equal(const Tensor& found, const Tensor& expected) {
  EXPECT_TRUE(torch::allclose(found, expected, 1e-5, 1e-6)) << found << expected;
}

TEST(StandIns, UniformAveragesWhatMayBeSeen) {
  const Tensor x = torch::randn({2, 3, 3, 4});
  const Tensor all = weights_in(UniformScore(), places_of_lengths({3, 2}), x);
  expect_near_equal(all[0], torch::full({3, 3, 3}, 1 / 3.0));
  expect_near_equal(all[1], torch::tensor({0.5f, 0.5f, 0.0f}).expand({3, 3, 3}));
  const Tensor causal = weights_in(UniformScore(), places_of_lengths({3, 3}), x, CausalScope());
  expect_near_equal(causal[1][2],
                    torch::tensor({{1.0f, 0.0f, 0.0f}, {0.5f, 0.5f, 0.0f}, {1 / 3.0f, 1 / 3.0f, 1 / 3.0f}}));
}

TEST(StandIns, DenseHasTheWeightsOfItsExample) {
  const at::NoGradGuard no_grad;
  DenseSynthesizer score({.query_width = 2, .memory_width = 2, .longest = 3});
  score.named_parameters()["energy.weight"].copy_(torch::tensor({{0.0f, 1.0f}, {1.0f, 0.0f}, {2.0f, 0.0f}}));
  const Tensor queries = torch::tensor({1.0f, -2.0f}).expand({1, 1, 3, 2});
  expect_near_equal(weights_in(score, places_of_lengths({3}), queries)[0][0][1],
                    torch::tensor({0.0900306f, 0.2447285f, 0.6652410f}));
  // Position 3 has the energy of the last row.
  const Tensor longer = score.energies(queries, {}, places_of_lengths({4}));
  expect_near_equal(longer[0][0][0], torch::tensor({0.0f, 1.0f, 2.0f, 2.0f}));
}

TEST(StandIns, DenseHasAMatrixOfEveryHead) {
  const at::NoGradGuard no_grad;
  DenseSynthesizer score({.heads = 2, .query_width = 1, .memory_width = 1, .longest = 2});
  score.named_parameters()["energy.weight"].copy_(torch::tensor({{1.0f}, {2.0f}, {3.0f}, {4.0f}}));
  const Tensor energies = score.energies(torch::tensor({2.0f, 10.0f}).view({1, 2, 1, 1}), {}, places_of_lengths({2}));
  expect_near_equal(energies, torch::tensor({2.0f, 4.0f, 30.0f, 40.0f}).view({1, 2, 1, 2}));
}

TEST(StandIns, RandomHasTheRowOfTheQuerysNumber) {
  const at::NoGradGuard no_grad;
  RandomSynthesizer score({.heads = 2, .longest = 2}, TableUse::learnt);
  score.parameters()[0].copy_(torch::tensor({0.0f, 1.0f, 2.0f, 0.0f, 5.0f, 6.0f, 7.0f, 8.0f}).view({2, 2, 2}));
  Places places = places_of_lengths({2, 2});
  const Tensor queries = torch::randn({2, 2, 2, 1});
  expect_near_equal(weights_in(score, places, queries)[1][0][1], torch::tensor({0.8807971f, 0.1192029f}));
  // A step, and chosen queries of each sentence.
  places.first = 1;
  const Tensor step = score.energies(queries.narrow(2, 0, 1), queries, places);
  expect_near_equal(step[1], torch::tensor({2.0f, 0.0f, 7.0f, 8.0f}).view({2, 1, 2}));
  places.chosen_T1 = torch::tensor({1, 0}).view({2, 1, 1, 1});
  const Tensor chosen = score.energies(queries.narrow(2, 0, 1), queries, places);
  expect_near_equal(chosen[0], step[1]);
  expect_near_equal(chosen[1], torch::tensor({0.0f, 1.0f, 5.0f, 6.0f}).view({2, 1, 2}));
  // Later positions have the last row and column.
  const Tensor longer = score.energies(torch::randn({1, 2, 3, 1}), torch::randn({1, 2, 3, 1}), places_of_lengths({3}));
  expect_near_equal(longer[0][0], torch::tensor({{0.0f, 1.0f, 1.0f}, {2.0f, 0.0f, 0.0f}, {2.0f, 0.0f, 0.0f}}));
}

TEST(StandIns, AFixedTableIsInitialisedButNotTrained) {
  const ScoreWidths widths{.heads = 3, .longest = 40};
  const auto root = std::make_shared<torch::nn::Module>();
  root->register_module("fixed", std::make_shared<RandomSynthesizer>(widths, TableUse::fixed));
  initialise(*root, 5);
  EXPECT_TRUE(root->parameters().empty());
  const Tensor table = root->named_buffers()["fixed.energy"].clone();
  EXPECT_NEAR(table.mean().item<double>(), 0, 0.1);
  EXPECT_NEAR(table.std().item<double>(), 1, 0.1);
  initialise(*root, 6);
  EXPECT_FALSE(torch::equal(table, root->named_buffers()["fixed.energy"]));
  initialise(*root, 5);
  EXPECT_TRUE(torch::equal(table, root->named_buffers()["fixed.energy"]));
}

TEST(StandIns, AMixtureAddsItsPartsInLearntShares) {
  const at::NoGradGuard no_grad;
  const auto synthesizer = std::make_shared<RandomSynthesizer>(ScoreWidths{.longest = 2}, TableUse::learnt);
  synthesizer->parameters()[0].copy_(torch::tensor({0.0f, 2.0f, 0.0f, 0.0f}).view({1, 2, 2}));
  MixtureScore score(1, synthesizer, std::make_shared<DotScore>());
  RandomStream random(1);
  score.initialise(random);
  const Tensor x = torch::tensor({{1.0f, 0.0f}, {0.0f, 1.0f}}).view({1, 1, 2, 2});
  expect_near_equal(weights_in(score, places_of_lengths({2}), x)[0][0][0], torch::tensor({0.3775407f, 0.6224593f}));
  score.named_parameters()["mixture"].copy_(torch::tensor({0.0f, 1.0986123f}));  // 1 to 3
  expect_near_equal(score.energies(x, score.prepare(x), places_of_lengths({2}))[0][0][0], torch::tensor({0.75f, 0.5f}));
}

TEST(StandIns, PatternsHaveTheWeightsOfTheirExample) {
  const PatternScore score(kPatterns, std::make_shared<DotScore>());
  const Tensor x = torch::randn({2, 8, 4, 3});
  const Tensor weights = weights_in(score, places_of_lengths({4, 2}), x);
  const auto rows = [](std::vector<float> numbers) { return torch::tensor(numbers).view({-1, 4}); };
  const Tensor third = weights[0].select(1, 2).narrow(0, 0, kPatterns);
  expect_near_equal(third, rows({0,    0,    1,    0,  // current
                                 0,    1,    0,    0,  //
                                 0,    0,    0,    1,  //
                                 1,    0,    0,    0,  // left
                                 0,    0,    0,    1,  // right, of which nothing is there
                                 .01f, .08f, .27f, .64f, .64f, .27f, .08f, .01f}));
  // The first token has no previous token and no left context, but two on its right.
  const Tensor first = weights[0].select(1, 0);
  expect_near_equal(first[1], rows({1, 0, 0, 0})[0]);
  expect_near_equal(first[3], rows({1, 0, 0, 0})[0]);
  expect_near_equal(first[4], rows({0, 0, 8 / 9.0f, 1 / 9.0f})[0]);
  expect_near_equal(weights[0][3][3], rows({1 / 9.0f, 8 / 9.0f, 0, 0})[0]);
  // The same of the shorter sentence, whose end is its own.
  expect_near_equal(weights[1].select(1, 1).narrow(0, 0, kPatterns),
                    rows({0, 1, 0, 0, 1, 0, 0,        0,        0, 1, 0,        0,        1, 0,
                          0, 0, 0, 1, 0, 0, 1 / 9.0f, 8 / 9.0f, 0, 0, 8 / 9.0f, 1 / 9.0f, 0, 0}));
  // The last head learns.
  const Tensor last = x.select(1, 7);
  expect_near_equal(weights[0][7], torch::softmax(last[0].mm(last[0].t()), -1));
}

TEST(StandIns, LinearAttentionIsForLongSentences) {
  const Elu1Score score({.heads = 2, .query_width = 8, .memory_width = 8});
  const auto has_context = [&](std::int64_t length) {
    const Tensor x = torch::randn({1, 2, length, 8});
    return score.context(x, score.prepare(x), x, torch::zeros({1, 1, 1, length}, torch::kBool)).has_value();
  };
  EXPECT_FALSE(has_context(7));
  EXPECT_TRUE(has_context(8));
}

// The parameters of self-attention of 12 columns and 4 heads.
std::map<std::string, std::vector<std::int64_t>> parameters_with(SelfAttentionKind kind, ProjectionKind projections) {
  const MultiHeadAttention attention(
      BlockOptions{.self_attention = kind, .projections = projections, .attention_bias = false},
      AttentionShape{.width = 12, .heads = 4, .longest = 5});
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const auto& parameter : attention->named_parameters()) shapes[parameter.key()] = parameter.value().sizes().vec();
  return shapes;
}

TEST(StandIns, HaveTheMapsThatTheyRead) {
  using Shapes = std::map<std::string, std::vector<std::int64_t>>;
  using enum SelfAttentionKind;
  const Shapes values{{"v_proj.weight", {12, 12}}, {"out_proj.weight", {12, 12}}};
  const auto with = [](Shapes shapes, const Shapes& others) {
    shapes.insert(others.begin(), others.end());
    return shapes;
  };
  const auto all = [](SelfAttentionKind kind) { return parameters_with(kind, ProjectionKind::all); };
  const Shapes fused{{"in_proj.weight", {36, 12}}, {"out_proj.weight", {12, 12}}};
  EXPECT_EQ(all(attention), fused);
  EXPECT_EQ(all(uniform), values);
  EXPECT_EQ(all(fixed_random), values);
  EXPECT_EQ(all(random), with(values, {{"score.energy", {4, 5, 5}}}));
  EXPECT_EQ(all(dense), with(values, {{"q_proj.weight", {12, 12}}, {"score.energy.weight", {20, 3}}}));
  EXPECT_EQ(all(dense_attention), with(fused, {{"score.synthesizer.energy.weight", {20, 3}}, {"score.mixture", {8}}}));
  EXPECT_EQ(all(patterns), with(values, {{"q_proj.weight", {3, 12}}, {"k_proj.weight", {3, 12}}}));
  EXPECT_EQ(parameters_with(patterns, ProjectionKind::shared_qk), with(values, {{"q_proj.weight", {3, 12}}}));
  EXPECT_EQ(parameters_with(attention, ProjectionKind::none), Shapes{});
}

Fourier fourier(std::int64_t width) {
  torch::nn::Module owner("owner");
  return {owner, width};
}

TEST(StandIns, FourierHasTheSumsOfItsExample) {
  const Tensor x = torch::tensor({{3.0f}, {5.0f}});
  expect_near_equal(fourier(1).within(x, layout_of({2}), nullptr), torch::tensor({{8.0f}, {-2.0f}}));
}

TEST(StandIns, FourierIsTheRealPartOfATransformOfEachSentence) {
  const Layout layout = layout_of({5, 1, 7});
  const Tensor x = torch::randn({13, 6});
  const Tensor y = fourier(6).within(x, layout, nullptr);
  for (std::int64_t b = 0; b < layout.size(); ++b) {
    const Tensor own = x.narrow(0, layout.offsets[b], layout.length(b));
    const Tensor expected = at::real(at::fft_fft2(own));  // sums of up to 42 numbers, with angles in fp32
    EXPECT_TRUE(at::allclose(y.narrow(0, layout.offsets[b], layout.length(b)), expected, 1e-4, 5e-5)) << b;
  }
  const Selection selected = select({1, 4, 5, 6, 12}, layout, torch::kCPU);
  EXPECT_TRUE(at::allclose(fourier(6).within(x, layout, &selected), selected.of(y), 1e-4, 5e-5));
}

}  // namespace
}  // namespace attend
