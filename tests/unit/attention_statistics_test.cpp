// Statistics of attention on matrices whose numbers are known.
#include "analysis/attention_statistics.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "analysis/attention_output.hpp"
#include "core/error.hpp"

namespace attend {
namespace {

HeadStatistics of(const at::Tensor& weights_TS) {
  HeadTally tally;
  tally.add(weights_TS.to(at::kFloat));
  return tally.statistics(2, 3);
}

TEST(AttentionStatistics, OfUniformWeights) {
  const HeadStatistics uniform = of(at::full({3, 5}, 0.2));
  EXPECT_EQ(uniform.layer, 2);
  EXPECT_EQ(uniform.head, 3);
  EXPECT_NEAR(uniform.entropy, std::log(5.0), 1e-6);
  EXPECT_NEAR(uniform.coverage, 0.6, 1e-6);
  EXPECT_NEAR(uniform.distance, (2 + std::abs(2 - 5.0 / 3) + std::abs(2 - 10.0 / 3)) / 3, 1e-6);
  EXPECT_EQ(uniform.monotonicity, 1);
  EXPECT_FALSE(uniform.alignment_error);
}

TEST(AttentionStatistics, OfTheDiagonalAndItsReverse) {
  const HeadStatistics diagonal = of(at::eye(4)), reversed = of(at::eye(4).flip(0));
  EXPECT_NEAR(diagonal.entropy, 0, 1e-6);
  EXPECT_NEAR(diagonal.coverage, 1, 1e-6);
  EXPECT_NEAR(diagonal.distance, 0, 1e-6);
  EXPECT_EQ(diagonal.monotonicity, 1);
  EXPECT_NEAR(reversed.distance, 2, 1e-6);
  EXPECT_EQ(reversed.monotonicity, 0);
}

TEST(AttentionStatistics, CoverageCountsEachPositionOnce) {
  EXPECT_NEAR(of(at::tensor({1.0, 0.0, 1.0, 0.0}).view({2, 2})).coverage, 0.5, 1e-6);
}

TEST(AttentionStatistics, MeansAreOverAllPieces) {
  HeadTally tally;
  tally.add(at::eye(3));
  tally.add(at::full({1, 2}, 0.5));
  EXPECT_NEAR(tally.statistics(0, 0).entropy, std::log(2.0) / 4, 1e-6);
}

TEST(AttentionStatistics, PiecesWithoutWeightsDoNotCount) {
  const HeadStatistics found = of(at::tensor({0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.5, 0.5}).view({4, 2}));
  EXPECT_NEAR(found.distance, (1 - 2.0 / 4 + std::abs(0.5 - 3 * 2.0 / 4)) / 2, 1e-6);
  EXPECT_NEAR(found.entropy, std::log(2.0) / 2, 1e-6);
  EXPECT_EQ(found.monotonicity, 0) << "one step, from position 1 to 0";
}

TEST(AttentionStatistics, ErrorsOfLinksAgainstGold) {
  HeadTally tally;
  tally.add(at::eye(2));
  tally.add_links({{0, 0}, {1, 1}}, {.sure = {{0, 0}, {1, 1}}, .possible = {{0, 0}, {1, 1}}});
  EXPECT_EQ(tally.statistics(0, 0).alignment_error, 0);
  tally.add_links({{0, 1}}, {.sure = {{0, 0}}, .possible = {{0, 0}}});
  EXPECT_NEAR(*tally.statistics(0, 0).alignment_error, 100.0 / 3, 1e-9);
}

SentenceAttention example() {
  const at::Tensor first = at::tensor({0.5, 0.25, 0.25, 0.0, 0.0, 1.0}).view({1, 2, 3}).to(at::kFloat);
  return {.source = {"a", "b", "</s>"},
          .target = std::vector<std::string>{"c", "</s>"},
          .layers = {{.place = AttentionPlace::cross, .layer = 0, .weights = at::cat({first, 1 - first})},
                     {.place = AttentionPlace::cross, .layer = 1, .weights = at::cat({first, first})}}};
}

TEST(AttentionMaps, AreBytesOfLayersAndHeads) {
  const AttentionMaps maps = maps_of(example(), AttentionPlace::cross, "<s>");
  EXPECT_EQ(maps.source, example().source);
  EXPECT_EQ(maps.target, *example().target);
  EXPECT_EQ(maps.layers, 2);
  EXPECT_EQ(maps.heads, 2);
  EXPECT_EQ(maps.weights.size(), 24u);
  EXPECT_EQ(maps.weights[0], 128);
  EXPECT_EQ(maps.weights[5], 255);
  EXPECT_EQ(maps.weights[11], 0);
}

TEST(AttentionMaps, AChoiceKeepsItsNumbersAndRefusesOthers) {
  const SentenceAttention one = chosen(example(), {.place = AttentionPlace::cross, .layer = 1, .head = 1});
  ASSERT_EQ(one.layers.size(), 1u);
  EXPECT_EQ(one.layers[0].layer, 1);
  EXPECT_EQ(one.layers[0].first_head, 1);
  EXPECT_EQ(one.layers[0].weights.size(0), 1);
  EXPECT_THROW(chosen(example(), {.layer = 2}), UserError);
  EXPECT_THROW(chosen(example(), {.head = 2}), UserError);
  EXPECT_THROW(chosen(example(), {.place = AttentionPlace::decoder}), UserError);
}

TEST(AttentionMaps, PiecesBecomeWords) {
  const SentenceAttention words =
      in_words(example(), {.words = {"ab"}, .pieces = {{0, 1}}}, {.words = {"c"}, .pieces = {{0}}});
  EXPECT_EQ(words.source, std::vector<std::string>{"ab"});
  EXPECT_FLOAT_EQ(words.layers[0].weights[0][0][0].item<float>(), 0.75F);
}

}  // namespace
}  // namespace attend
