// The table and the members of attend attention --steps, by numbers computed by hand.
#include "analysis/attention_arithmetic.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/user_error.hpp"

namespace attend {
namespace {

using torch::Tensor;

constexpr float kUnseen = -std::numeric_limits<float>::infinity();

// The energies of one query, whatever its operands.
class GivenEnergies final : public Score {
 public:
  Tensor prepare(const Tensor& memory_SW) const override { return memory_SW; }
  Tensor energies(const Tensor& /*queries_TH*/, const Tensor& /*keys_SA*/, const Places& /*places*/) const override {
    return at::tensor({1.0F, 2.0F}).view({1, 1, 1, 2});
  }
  Tensor scale(const Tensor& /*keys_SA*/) const override { return scale_1; }

  Tensor scale_1 = at::tensor({0.5F});
};

class GivenWindow final : public Scope {
 public:
  Window window(const Tensor& /*queries_TH*/, const Places& /*places*/) const override { return given; }

  Window given{.outside_TS = at::zeros({1, 2}, at::kBool), .bias_TS = at::tensor({0.0F, std::log(3.0F) - 1})};
};

// One head with products 2 and 4, a scale of 1/2, and values of lengths 5 and 1; the second query is not looked at. The
// weights are 1/4 and 3/4 by a bias of log 3 - 1 at the second position.
struct Parts {
  std::shared_ptr<GivenEnergies> score = std::make_shared<GivenEnergies>();
  std::shared_ptr<GivenWindow> scope = std::make_shared<GivenWindow>();
};
LayerAttention layer_of_two(AttentionPlace place, const Parts& parts) {
  const Tensor values_BNSW = at::tensor({3.0F, 4.0F, 0.0F, 1.0F}).view({1, 1, 2, 2});
  const AttentionOperands operands{.score = parts.score,
                                   .scope = parts.scope,
                                   .queries_BNTH = at::zeros({1, 1, 2, 2}),
                                   .keys_BNSA = at::zeros({1, 1, 2, 2}),
                                   .values_BNSW = values_BNSW,
                                   .places = {.padding_1S = at::zeros({1, 1, 1, 2}, at::kBool)}};
  return {.place = place,
          .layer = 1,
          .weights = at::tensor({0.25F, 0.75F, 0.5F, 0.5F}).view({1, 2, 2}),
          .operands = operands};
}

SentenceAttention two_pieces(AttentionPlace place = AttentionPlace::cross, const Parts& parts = {}) {
  return {
      .source = {"▁a", "b"}, .target = std::vector<std::string>{"▁c", "▁猫"}, .layers = {layer_of_two(place, parts)}};
}

QueryChoice first_query(AttentionPlace place = AttentionPlace::cross) {
  return {.place = place, .query = 0, .beginning = "<s>"};
}

TEST(QueryArithmetic, OfTwoPositions) {
  EXPECT_EQ(to_text(arithmetic_of(two_pieces(), first_query(), 1)),
            "attention to the source, layer 1, head 0, query 0: predicts ▁c\n"
            "energy = 0.5000 product\n"
            "weight = softmax(energy + bias)\n"
            "vector = Σ weight value\n"
            "\n"
            "   piece  product  energy    bias  weight  ‖value‖  ‖weight value‖\n"
            "0  ▁a      2.0000  1.0000  0.0000  0.2500   5.0000          1.2500\n"
            "1  b       4.0000  2.0000  0.0986  0.7500   1.0000          0.7500\n"
            "\n"
            "Σ weight = 1.0000, ‖vector‖ = 1.9039\n");
}

TEST(QueryArithmetic, OfTheLastQueryUnlessOneIsChosen) {
  QueryChoice choice = first_query();
  choice.query.reset();
  const QueryArithmetic steps = arithmetic_of(two_pieces(), choice, 1);
  EXPECT_EQ(steps.query, 1);
  EXPECT_EQ(steps.piece, "▁猫");
}

TEST(QueryArithmetic, OfAnEncoderAndADecoderNamesWhatTheyRead) {
  SentenceAttention text = two_pieces(AttentionPlace::encoder);
  text.target.reset();
  const std::string encoder = to_text(arithmetic_of(text, first_query(AttentionPlace::encoder), 1));
  EXPECT_TRUE(encoder.starts_with("self-attention of the encoder, layer 1, head 0, query 0: ▁a\n")) << encoder;
  const SentenceAttention pair = two_pieces(AttentionPlace::decoder);
  const QueryArithmetic decoder = arithmetic_of(pair, first_query(AttentionPlace::decoder), 1);
  EXPECT_EQ(decoder.positions, (std::vector<std::string>{"<s>", "▁c"}));
  EXPECT_EQ(decoder.piece, "▁c");
}

TEST(QueryArithmetic, ShowsAMaskAFactorAndACut) {
  const Parts parts;
  SentenceAttention masked = two_pieces(AttentionPlace::cross, parts);
  Tensor& weights = masked.layers[0].weights;
  parts.score->scale_1 = Tensor();
  parts.scope->given = {.outside_TS = at::tensor({0, 1}).to(at::kBool).view({1, 2})};
  weights = at::tensor({1.0F, 0.0F, 0.5F, 0.5F}).view({1, 2, 2});
  const auto has = [&](const std::string& words) {
    const std::string text = to_text(arithmetic_of(masked, first_query(), 1));
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  has("\nweight = softmax(energy + mask)\n");
  has("   piece  energy    mask  weight  ‖value‖  ‖weight value‖\n");
  has("1  b      2.0000    -inf  0.0000   1.0000          0.0000\n");
  parts.scope->given.factor_TS = at::tensor({0.5F, 0.5F});
  weights = weights * 0.5;
  has("\nweight = factor softmax(energy + mask)\n");
  has("   piece  energy    mask  softmax  factor  weight  ‖value‖  ‖weight value‖\n");
  weights = at::tensor({0.3F, 0.0F, 0.5F, 0.5F}).view({1, 2, 2});
  has("softmax(energy + mask), cut by --attention-threshold\n");
}

TEST(QueryArithmetic, OfHardAttentionHasNoSum) {
  SentenceAttention hard = two_pieces();
  hard.layers[0].operands->takes_largest = true;
  const QueryArithmetic steps = arithmetic_of(hard, first_query(), 1);
  EXPECT_TRUE(steps.weighted_norms.empty());
  const std::string text = to_text(steps);
  EXPECT_NE(text.find("vector = value of the largest weight\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("‖weight value‖"), std::string::npos) << text;
}

TEST(QueryArithmetic, AnInfiniteBiasIsShown) {
  const Parts parts;
  parts.scope->given.bias_TS = at::tensor({0.0F, kUnseen});
  const SentenceAttention window = two_pieces(AttentionPlace::cross, parts);
  EXPECT_NE(to_text(arithmetic_of(window, first_query(), 1)).find("    -inf  "), std::string::npos);
}

TEST(QueryArithmetic, RefusesWhatDoesNotExist) {
  const auto expect_refused = [](const QueryChoice& choice, const std::string& message, const std::string& remedy) {
    EXPECT_EQ(error_and_remedy_of([&] { arithmetic_of(two_pieces(), choice, 7); }), message + " | " + remedy);
  };
  expect_refused({.query = 2}, "--query 2: in line 7, 2 pieces attend", "choose one from 0 to 1");
  expect_refused({.head = 1}, "--head 1: layer 1 has 1 head", "choose head 0");
  expect_refused({.layer = 0}, "--layer 0: this model has no such layer", "choose one of 1");
  expect_refused({.place = AttentionPlace::encoder}, "--place encoder: this model has no such attention",
                 "leave --place out");
}

}  // namespace
}  // namespace attend
