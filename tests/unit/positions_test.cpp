// Encodings of positions: sinusoids, rotations, vectors of distances and learnt tables, and the models that have them.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/attention/relative_positions.hpp"
#include "models/attention/scores.hpp"
#include "models/bert/bert.hpp"
#include "models/exchange/bert.hpp"
#include "models/layers/layers.hpp"
#include "models/transformer/positions.hpp"
#include "models/translation/factory.hpp"
#include "tests/support/layout.hpp"
#include "tests/support/sentences.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

using torch::Tensor;

Tensor random_tensor(std::vector<std::int64_t> sizes, std::uint64_t seed) {
  RandomStream random(seed);
  const Tensor x = torch::empty(sizes);
  fill_normal(x, 1, random);
  return x;
}

void expect_near(const Tensor& ours, const Tensor& theirs, double tolerance, const std::string& name = {}) {
  ASSERT_EQ(ours.sizes(), theirs.sizes()) << name;
  EXPECT_LE((ours - theirs).abs().max().item<double>(), tolerance) << name;
}

// PE(p + k) = M_k PE(p), where M_k has blocks (cos kω, sin kω; -sin kω, cos kω), whatever p is (1706.03762, 3.5).
TEST(Sinusoids, OfAShiftAreALinearMapOfThoseBefore) {
  RandomStream random(5);
  for (int trial = 0; trial < 50; ++trial) {
    const auto width = 2 * (1 + static_cast<std::int64_t>(random.below(9)));
    const auto p = static_cast<std::int64_t>(random.below(3000)), k = static_cast<std::int64_t>(random.below(3000));
    const Tensor map = torch::zeros({width, width});
    for (std::int64_t i = 0; i < width; i += 2) {
      const double angle =
          static_cast<double>(k) * std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(width));
      map[i][i] = map[i + 1][i + 1] = std::cos(angle);
      map[i][i + 1] = std::sin(angle);
      map[i + 1][i] = -std::sin(angle);
    }
    expect_near(map.mv(sinusoids(p, 1, width)[0]), sinusoids(p + k, 1, width)[0], 1e-6);
  }
}

TEST(RowTable, ComputesRowsAgainOnlyWhenItGrows) {
  std::vector<std::int64_t> computed;
  const RowTable table([&](std::int64_t first, std::int64_t length) {
    computed.push_back(length);
    return torch::arange(first, first + length);
  });
  EXPECT_EQ(table->rows(0, 0).size(0), 0);
  EXPECT_TRUE(computed.empty());
  EXPECT_TRUE(torch::equal(table->rows(3, 2), torch::arange(3, 5)));
  EXPECT_TRUE(torch::equal(table->rows(0, 8), torch::arange(0, 8)));
  EXPECT_TRUE(torch::equal(table->rows(-3, 5), torch::arange(-3, 2)));
  EXPECT_TRUE(torch::equal(table->rows(7, 3), torch::arange(7, 10)));
  EXPECT_TRUE(torch::equal(table->rows(-4, 20), torch::arange(-4, 16)));
  EXPECT_EQ(computed, (std::vector<std::int64_t>{8, 12, 20}));
}

class RotaryTest : public testing::Test {
 protected:
  // The product of q at position i with k at position j in each of two heads.
  Tensor product(std::int64_t i, std::int64_t j) const {
    const auto rows = rotary_.turned({q_, k_, k_}, rotary_.factors(i, 1), rotary_.factors(j, 1));
    return (rows.first * rows.second).unflatten(1, {2, -1}).sum(2);
  }

  torch::nn::Module module_;
  Rotary rotary_{module_, 6};
  Tensor q_ = random_tensor({1, 12}, 1), k_ = random_tensor({1, 12}, 2);
};

TEST_F(RotaryTest, TurnsNeighbouringColumnsByTheirFrequency) {
  torch::nn::Module module;
  const Rotary rotary(module, 4);
  const Tensor qkv = torch::tensor({{1.0f, 0.0f, 0.0f, 1.0f}}).repeat({1, 3});
  const Tensor factors = rotary.factors(5, 1);
  const ops::QueriesKeysValues turned = rotary.turned({qkv}, factors, factors);
  const double fast = 5, slow = 0.05;  // 5 · 10000^(-2 / 4)
  const Tensor expected = torch::tensor({{std::cos(fast), std::sin(fast), -std::sin(slow), std::cos(slow)}});
  expect_near(turned.q(), expected.to(torch::kFloat), 1e-6);
  expect_near(turned.k(), expected.to(torch::kFloat), 1e-6);
  EXPECT_TRUE(torch::equal(turned.v(), qkv.narrow(1, 8, 4)));
}

TEST_F(RotaryTest, ProductsDependOnTheDistanceAlone) {
  for (const std::int64_t shift : {1, 17, 1022, 5000}) {
    expect_near(product(3 + shift, 8 + shift), product(3, 8), 1e-4);
    expect_near(product(8 + shift, 3 + shift), product(8, 3), 1e-4);
  }
  EXPECT_GT((product(3, 8) - product(8, 3)).abs().max().item<double>(), 1e-2);
  EXPECT_GT((product(3, 8) - product(3, 9)).abs().max().item<double>(), 1e-2);
}

TEST_F(RotaryTest, TakesProjectionsInOneTwoOrThreeTensors) {
  const Tensor rows = random_tensor({5, 36}, 4);
  const Tensor factors = rotary_.factors(0, 9).index_select(0, torch::tensor({0, 1, 2, 0, 8}));
  const ops::QueriesKeysValues one = rotary_.turned({rows}, factors, factors);
  const Tensor q = rows.narrow(1, 0, 12), k = rows.narrow(1, 12, 12), v = rows.narrow(1, 24, 12);  // strided
  const ops::QueriesKeysValues two = rotary_.turned({q, rows.narrow(1, 12, 24)}, factors, factors);
  const ops::QueriesKeysValues three = rotary_.turned({q, k, v}, factors, factors);
  for (const ops::QueriesKeysValues& other : {two, three}) {
    EXPECT_TRUE(torch::equal(other.q(), one.q()));
    EXPECT_TRUE(torch::equal(other.k(), one.k()));
    EXPECT_TRUE(torch::equal(other.v(), one.v()));
  }
  const ops::QueriesKeysValues half = rotary_.turned({rows.to(torch::kBFloat16)}, factors, factors);
  EXPECT_EQ(half.first.scalar_type(), torch::kBFloat16);
  expect_near(half.first.to(torch::kFloat), one.first, 0.05);
}

// Two heads over 40 positions, more than are told apart.
struct Pairs {
  Tensor q = random_tensor({1, 2, 40, 5}, 1), k = random_tensor({1, 2, 40, 5}, 2), v = random_tensor({1, 2, 40, 5}, 3);
  Tensor padding = torch::zeros({1, 1, 1, 40}, torch::kBool);
};

Tensor context_of(const RelativeScope& scope, const Tensor& q, const Pairs& pairs, const Places& places) {
  const ScaledDotScore score;
  const Tensor weights = scope.window(q, places).softmax(score.energies(q, score.prepare(pairs.k), places));
  return scope.context(weights, pairs.v, places);
}

TEST(Relative, HasEquationsThreeToFiveOfEveryPair) {
  const Pairs pairs;
  for (const bool causal : {false, true}) {
    const std::shared_ptr<Scope> within = causal ? std::shared_ptr<Scope>(std::make_shared<CausalScope>())
                                                 : std::shared_ptr<Scope>(std::make_shared<GlobalScope>());
    RelativeScope scope(within, 5, causal);
    RandomStream random(3);
    scope.initialise(random);
    const auto parameters = scope.named_parameters();
    const Tensor keys = parameters["keys"], values = parameters["values"];
    ASSERT_EQ(keys.size(0), causal ? 17 : 33);
    const Tensor context = context_of(scope, pairs.q, pairs, {.padding_1S = pairs.padding});
    {
      const torch::NoGradGuard no_grad;
      Tensor expected = torch::zeros_like(pairs.q);
      for (std::int64_t n = 0; n < 2; ++n) {
        const Tensor q = pairs.q[0][n], k = pairs.k[0][n], v = pairs.v[0][n];
        for (std::int64_t i = 0; i < 40; ++i) {
          std::vector<Tensor> energies, moved;
          for (std::int64_t j = 0; j < (causal ? i + 1 : 40); ++j) {
            const std::int64_t row = std::clamp<std::int64_t>(j - i, -16, 16) + 16;
            energies.push_back(q[i].dot(k[j] + keys[row]) / std::sqrt(5.0));
            moved.push_back(v[j] + values[row]);
          }
          expected[0][n][i] = torch::softmax(torch::stack(energies), 0).matmul(torch::stack(moved));
        }
      }
      expect_near(context, expected, 1e-5);
    }
    (context * random_tensor({1, 2, 40, 5}, 4)).sum().backward();
    for (const Tensor& parameter : {keys, values}) {
      EXPECT_GT(parameter.grad().abs().sum(1).min().item<double>(), 0) << "every distance occurs";
    }
  }
}

TEST(LearnedPositions, TheLastRowStandsForAllThatFollow) {
  torch::nn::Module model;
  const AddedPositions positions(model, PositionKind::learned, "table", {.vocabulary = 4, .width = 3});
  initialise(model, 1);
  const Tensor table = model.named_parameters()["table.weight"];
  EXPECT_TRUE(torch::equal(positions.rows(1, 3), table.narrow(0, 1, 3)));
  const Tensor rows = positions.rows(2, 4);
  EXPECT_TRUE(torch::equal(rows, table.index_select(0, torch::tensor({2, 3, 3, 3}))));
  EXPECT_TRUE(torch::equal(positions.rows(900, 1), table.narrow(0, 3, 1)));
  rows.sum().backward();
  EXPECT_TRUE(torch::equal(table.grad(), torch::tensor({0.0f, 0.0f, 1.0f, 3.0f}).unsqueeze(1).expand({4, 3})));
}

ModelConfig translation_with(PositionKind kind, std::int64_t max_positions) {
  ModelConfig config;
  config.encoder_layers = 1;
  config.decoder_layers = 2;
  config.width = 12;
  config.block.heads = 2;
  config.block.feed_forward = 19;
  config.block.positions = kind;
  config.dropout = 0;
  if (kind == PositionKind::learned) config.max_positions = max_positions;
  return config;
}

TEST(LearnedPositions, HaveATableForEachSide) {
  const Seq2Seq model = make_seq2seq(translation_with(PositionKind::learned, 300), {.src = 37, .tgt = 37}, 7);
  const auto parameters = model->named_parameters();
  const Tensor src = parameters["src_position_embedding.weight"], tgt = parameters["tgt_position_embedding.weight"];
  EXPECT_FALSE(torch::equal(src, tgt));
  for (const Tensor& table : {src, tgt}) {
    EXPECT_EQ(table.sizes(), at::IntArrayRef({300, 12}));
    EXPECT_NEAR(table.std().item<double>(), 1 / std::sqrt(12.0), 0.02);
  }
}

// Sentences longer than a table and than the distances that are told apart.
TEST(Positions, StepsAreForwardBeyondEveryTable) {
  const torch::NoGradGuard no_grad;
  for (const auto& [kind, length] : std::map<PositionKind, std::int64_t>{{PositionKind::sinusoidal, 1030},
                                                                         {PositionKind::rotary, 1030},
                                                                         {PositionKind::learned, 9},
                                                                         {PositionKind::relative, 40},
                                                                         {PositionKind::transformer_xl, 150},
                                                                         {PositionKind::t5, 150},
                                                                         {PositionKind::alibi, 150},
                                                                         {PositionKind::none, 9}}) {
    const Seq2Seq model = make_seq2seq(translation_with(kind, 5), {.src = kVocabulary, .tgt = kVocabulary}, 7);
    model->to(test_device());
    const Batch batch = make_batch(random_sentences({length}, 1), random_sentences({length}, 2));
    Pass pass = Pass::inference();
    const Tensor expected = ops::logits(model->forward(batch, pass), model->output_table(), {});
    const auto memory = model->encode(batch.src, pass);
    const auto state = model->start(*memory, std::vector<std::int64_t>{0});
    std::vector<Tensor> steps;
    for (std::int64_t t = 0; t < batch.tgt.layout.num_tokens(); ++t) {
      steps.push_back(model->step(*memory, *state, batch.tgt.ids_M.narrow(0, t, 1), pass));
    }
    expect_near(torch::cat(steps), expected, 2e-4, std::string(name_of(kind)));
  }
}

TEST(Positions, AreNotSeenByAttentionToAMemory) {
  const Seq2Seq rotary = make_seq2seq(translation_with(PositionKind::rotary, 0), {.src = 37, .tgt = 37}, 7);
  EXPECT_EQ(rotary->named_buffers().size(), 3U) << "turns of each self-attention";
  for (const auto& buffer : rotary->named_buffers()) EXPECT_NE(buffer.key().find("self_attn.turns"), std::string::npos);
  const Seq2Seq relative = make_seq2seq(translation_with(PositionKind::relative, 0), {.src = 37, .tgt = 37}, 7);
  for (const auto& parameter : relative->named_parameters()) {
    EXPECT_EQ(parameter.key().find("multihead_attn.scope"), std::string::npos) << parameter.key();
  }
}

StackOptions encoder_with(PositionKind kind) {
  StackOptions options;
  options.layers = 2;
  options.width = 24;
  options.block.heads = 3;
  options.block.positions = kind;
  options.max_positions = 32;
  options.initial_deviation = 0.3;
  return options;
}

Bert encoder_of(const StackOptions& options) {
  const Bert bert(options, /*vocabulary=*/30);
  initialise(*bert, 1);
  const torch::NoGradGuard no_grad;
  for (Tensor& parameter : bert->parameters()) {  // biases and tables that begin with zeros
    parameter.add_(0.3 * torch::sin(torch::arange(parameter.numel())).view_as(parameter));
  }
  return bert;
}

SegmentedSequences one_segment(const Tensor& ids_M, const std::vector<std::int64_t>& lengths) {
  return {.tokens = {.ids_M = ids_M, .layout = layout_of(lengths)}, .segments_M = torch::zeros_like(ids_M)};
}

TEST(PositionsOfBert, AreThoseOfSelectedTokens) {
  const torch::NoGradGuard no_grad;
  const SegmentedSequences input = one_segment((torch::arange(27) * 7) % 30, {3, 21, 1, 2});
  const Selection wanted = select({0, 2, 4, 22, 23, 26}, input.tokens.layout, torch::kCPU);
  for (const auto& [kind, name] : kEnumNames<PositionKind>) {
    const Bert bert = encoder_of(encoder_with(kind));
    Pass pass = Pass::inference();
    expect_near(bert->forward(input, pass, wanted), wanted.of(bert->forward(input, pass)), 1e-4, std::string(name));
  }
}

TEST(PositionsOfBert, SinusoidsAreThoseOfTheInitialisation) {
  const torch::NoGradGuard no_grad;
  StackOptions initial = encoder_with(PositionKind::learned);
  initial.initial_positions = InitialPositions::sinusoids;
  const Bert learned(initial, 30), fixed(encoder_with(PositionKind::sinusoidal), 30);
  initialise(*learned, 1);
  const auto from = learned->named_parameters();
  for (auto& parameter : fixed->named_parameters()) parameter.value().copy_(from[parameter.key()]);
  refresh_weights(*fixed);
  EXPECT_EQ(from.size(), fixed->named_parameters().size() + 1);
  const SegmentedSequences input = one_segment((torch::arange(27) * 7) % 30, {3, 21, 1, 2});
  Pass pass = Pass::inference();
  EXPECT_TRUE(torch::equal(learned->forward(input, pass), fixed->forward(input, pass)));
}

TEST(PositionsOfBert, OnlyLearnedOnesAreExported) {
  HfConfig config;
  config.options = encoder_with(PositionKind::learned);
  config.vocabulary = 30;
  EXPECT_NO_THROW(to_hf_config(config));
  config.options.block.positions = PositionKind::rotary;
  EXPECT_NE(user_error_of([&] { to_hf_config(config); }).find("positions = rotary"), std::string::npos);
}

}  // namespace
}  // namespace attend
