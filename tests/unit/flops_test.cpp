// Operations of a forward pass, counted a second time from the equations of each family.
#include "analysis/cost.hpp"

#include <gtest/gtest.h>

#include <string>

#include "models/attention/parts.hpp"
#include "tests/support/small_run.hpp"

namespace attend {
namespace {

class Operations : public ::testing::Test {
 protected:
  static constexpr double H = 12, F = 20, S = 7, T = 5;

  // Of a vector of `in` numbers with a matrix.
  static double product(double in, double out) { return 2 * in * out; }
  // The two products of a step of an LSTM (4 gates) or a GRU (3).
  static double cell(double gates, double in, double hidden) {
    return product(in, gates * hidden) + product(hidden, gates * hidden);
  }
  // An encoder of two layers in both directions reads H, then 2 H.
  static double both_ways(double gates) { return S * 2 * (cell(gates, H, H) + cell(gates, 2 * H, H)); }

  static ModelConfig model(ModelKind kind) {
    ModelConfig config;
    config.model = kind;
    config.encoder_layers = 2;
    config.decoder_layers = 1;
    config.width = static_cast<std::int64_t>(H);
    config.dropout = 0;
    return config;
  }
  // Without the output layer, which every family has.
  static double counted(const ModelConfig& config) {
    const TranslationRun run = small_run(config, 1);
    return flops_per_target_piece(run, S, T) - product(H, static_cast<double>(run.tokenizers.tgt.size()));
  }
};

TEST_F(Operations, OfLuong) {
  const double bridge = 2 * product(2 * H, H);                       // h and c
  const double keys = S * product(2 * H, H);                         // W_a h_s
  const double attention = S * (product(H, 1) + product(1, 2 * H));  // energies, context
  const double step = cell(4, 2 * H, H) + attention + product(3 * H, H);
  EXPECT_DOUBLE_EQ(counted(model(ModelKind::luong)), (both_ways(4) + bridge + keys) / T + step);
  ModelConfig simple = model(ModelKind::luong);
  simple.input_feeding = false;
  simple.tie_embeddings = false;
  simple.encoder = Direction::forward;
  const double one_way = S * 2 * cell(4, H, H) + 2 * product(H, H) + S * product(H, H);
  const double narrow = cell(4, H, H) + S * (product(H, 1) + product(1, H)) + product(2 * H, H);
  EXPECT_DOUBLE_EQ(counted(simple), one_way / T + narrow);
}

// With the dot score each direction has half the width, and keys are not mapped.
TEST_F(Operations, OfLuongWithTheDotScore) {
  ModelConfig config = model(ModelKind::luong);
  config.score = ScoreKind::dot;
  const double encoder = S * 2 * 2 * cell(4, H, H / 2);
  const double step = cell(4, 2 * H, H) + S * (product(H, 1) + product(1, H)) + product(2 * H, H);
  EXPECT_DOUBLE_EQ(counted(config), (encoder + 2 * product(H, H)) / T + step);
}

TEST_F(Operations, OfBahdanau) {
  const double start = product(H, H) + S * product(2 * H, H);                        // s_0 and U h_s
  const double attention = product(H, H) + S * (product(H, 1) + product(1, 2 * H));  // W s; vᵀ tanh(…), context
  const double step = cell(3, 3 * H, H) + attention + product(4 * H, 2 * H);         // maxout halves 2 H
  EXPECT_DOUBLE_EQ(counted(model(ModelKind::bahdanau)), (both_ways(3) + start) / T + step);
}

// A row of W for each position that a query may attend to, and no product of pairs but that with the values.
TEST_F(Operations, OfLuongWithTheLocationScore) {
  ModelConfig config = model(ModelKind::luong);
  config.score = ScoreKind::location;
  config.longest_source = 9;
  const double attention = product(H, 9) + S * product(1, 2 * H);
  const double step = cell(4, 2 * H, H) + attention + product(3 * H, H);
  EXPECT_DOUBLE_EQ(counted(config), (both_ways(4) + 2 * product(2 * H, H)) / T + step);
}

// Maps of other names would be counted as maps of queries.
TEST(ScoreMaps, AreNamedByWhatTheyRead) {
  for (const auto& [kind, name] : kEnumNames<ScoreKind>) {
    const auto score = recipe_of(kind).make({.heads = 3, .query_width = 4, .memory_width = 4, .longest = 8});
    for (const auto& parameter : score->named_parameters()) {
      if (parameter.value().dim() < 2) continue;
      const std::string map = parameter.key().substr(0, parameter.key().find('.'));
      EXPECT_TRUE(map == "key" || map == "query" || map == "position" || map == "energy") << name << ": " << map;
    }
  }
}

TEST_F(Operations, OfAFixedContext) {
  const double bridge = 2 * product(2 * H, H);
  EXPECT_DOUBLE_EQ(counted(model(ModelKind::fixed)), (both_ways(4) + bridge) / T + cell(4, H, H) + product(H, H));
}

TEST_F(Operations, OfTheTransformer) {
  ModelConfig config = model(ModelKind::transformer);
  config.block.heads = 3;
  config.block.feed_forward = static_cast<std::int64_t>(F);
  const double maps = 4 * product(H, H), inner = product(H, F) + product(F, H);
  const double pair = product(H, 1) + product(1, H);  // a query with a key, its weight with a value: all heads
  const double encoder = 2 * (S * (maps + inner) + S * S * pair);
  const double itself = T * maps + T * (T + 1) / 2 * pair;  // a position sees itself and those before it
  const double source = T * 2 * product(H, H) + S * 2 * product(H, H) + S * T * pair;
  EXPECT_DOUBLE_EQ(counted(config), (encoder + itself + source + T * inner) / T);
  const double sinusoidal = encoder + itself + source + T * inner;
  config.block.positions = PositionKind::t5;  // biases are looked up
  EXPECT_DOUBLE_EQ(counted(config), sinusoidal / T);
  // Each of three heads: a query with a^K, the sums of its weights with a^V, of 33 distances or, in a decoder, of 17.
  config.block.positions = PositionKind::relative;
  const auto of_distances = [](double count) { return 3 * (product(H / 3, count) + product(count, H / 3)); };
  EXPECT_DOUBLE_EQ(counted(config), (sinusoidal + 2 * S * of_distances(33) + T * of_distances(17)) / T);
  // W_kR R of the distances that there are, and a query with each of its positions.
  config.block.positions = PositionKind::transformer_xl;
  const double in_encoder = 2 * ((2 * S - 1) * product(H, H) + S * S * product(H, 1));
  const double in_decoder = T * product(H, H) + T * (T + 1) / 2 * product(H, 1);
  EXPECT_DOUBLE_EQ(counted(config), (sinusoidal + in_encoder + in_decoder) / T);
  config.block.positions = PositionKind::sinusoidal;
  // W q, U k of every head of H / 3 columns, at the positions of each; the energies still are products of D numbers.
  config.score = ScoreKind::additive;
  const double map = 3 * product(H / 3, H / 3);
  EXPECT_DOUBLE_EQ(counted(config),
                   (encoder + itself + source + T * inner + 2 * S * 2 * map + T * 2 * map + T * map + S * map) / T);
}

// The encoder alone is changed: what stands in for its self-attention, with its maps and the products of its pairs.
TEST_F(Operations, OfWhatStandsInForSelfAttention) {
  ModelConfig config = model(ModelKind::transformer);
  config.block.heads = 3;
  config.block.feed_forward = static_cast<std::int64_t>(F);
  const double map = product(H, H), value = product(1, H), energy = product(H, 1);
  const auto encoder_of = [&](SelfAttentionKind kind) {
    config.block.self_attention = kind;
    config.self_attention_in = kind == SelfAttentionKind::attention ? StackChoice::both : StackChoice::encoder;
    config.max_positions.reset();
    if (recipe_of(kind).has_table) config.max_positions = 9;
    return counted(config) * T;
  };
  const double usual = encoder_of(SelfAttentionKind::attention);
  const auto expect = [&](SelfAttentionKind kind, double maps, double pair, double rest = 0) {
    const double expected = usual + 2 * (S * (maps - 4 * map) + S * S * (pair - energy - value) + rest);
    EXPECT_NEAR(encoder_of(kind), expected, 1e-6) << name_of(kind);
  };
  expect(SelfAttentionKind::uniform, 2 * map, value);
  expect(SelfAttentionKind::random, 2 * map, value);
  expect(SelfAttentionKind::dense, 3 * map, energy + value);
  expect(SelfAttentionKind::dense_attention, 4 * map, 2 * energy + value);
  expect(SelfAttentionKind::patterns, 2 * map + 2 * product(H, H / 3), energy / 3 + value);
  // x C_H and x S_H of each token, C_n and S_n of each pair.
  expect(SelfAttentionKind::fourier, 0, 2 * value, S * 2 * map);
}

// Two maps of 2/3 of the inner size and one back, or none of them.
TEST_F(Operations, OfFeedForwards) {
  ModelConfig config = model(ModelKind::transformer);
  config.block.feed_forward = 0;
  const double absent = counted(config);
  config.block.feed_forward = static_cast<std::int64_t>(F);
  const double positions = 2 * S + T;  // two layers of the encoder and one of the decoder
  EXPECT_DOUBLE_EQ(counted(config), absent + positions * (product(H, F) + product(F, H)) / T);
  config.block.activation = FeedForwardKind::swiglu;
  EXPECT_DOUBLE_EQ(counted(config), absent + positions * (2 * product(H, 13) + product(13, H)) / T);  // 2/3 of 20
}

}  // namespace
}  // namespace attend
