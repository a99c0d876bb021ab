// The parts of attention: the examples at the head of each score's file, and the rows that a step reads.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
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
#include "models/ops/padded.hpp"
#include "models/translation/config.hpp"
#include "tests/support/layout.hpp"

namespace attend {
namespace {

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

}  // namespace
}  // namespace attend
