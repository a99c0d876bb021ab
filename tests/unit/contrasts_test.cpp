// Accuracies and tests of systems on minimal pairs, from log-probabilities written here.
#include "analysis/pair_tests.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "eval/metrics/significance.hpp"

namespace attend {
namespace {

// Six pairs: "a" at the distances 1, 1 and 4, "b" without one.
PairsFile contrasted_pairs() {
  PairsFile file{.name = "pairs.tsv", .pairs = {}};
  for (const std::int64_t distance : {1, 1, 4}) {
    file.pairs.push_back({.kind = "a", .distance = distance, .better = "x", .worse = "y"});
  }
  for (int i = 0; i < 3; ++i) file.pairs.push_back({.kind = "b", .better = "x", .worse = "y"});
  return file;
}

// A right pair is '+', a wrong one '-', and '=' has equal probabilities.
std::vector<PairLogProbs> contrasted_scores(const std::string& judged) {
  std::vector<PairLogProbs> scores;
  for (const char c : judged) scores.push_back({.better = -2, .worse = c == '+' ? -3.0 : c == '-' ? -1.0 : -2.0});
  return scores;
}

TEST(Contrasts, AreCountedByKindAndDistanceForEachSystem) {
  const ContrastSet set =
      contrast_set(contrasted_pairs(), {contrasted_scores("++-+--"), std::nullopt, contrasted_scores("+=++++")});
  EXPECT_EQ(set.file, "pairs.tsv");
  EXPECT_EQ(set.all.pairs, 6);
  ASSERT_EQ(set.all.values.size(), 3U);
  EXPECT_DOUBLE_EQ(set.all.values[0]->value, 50);
  EXPECT_FALSE(set.all.values[1]);
  EXPECT_DOUBLE_EQ(set.all.values[2]->value, 500.0 / 6) << "equal probabilities are wrong";
  const metrics::Interval interval = metrics::wilson(5, 6);
  EXPECT_DOUBLE_EQ(set.all.values[2]->low, 100 * interval.low);
  EXPECT_DOUBLE_EQ(set.all.values[2]->high, 100 * interval.high);
  ASSERT_EQ(set.kinds.size(), 2U);
  EXPECT_EQ(set.kinds.at("b").pairs, 3);
  EXPECT_DOUBLE_EQ(set.kinds.at("b").values[0]->value, 100.0 / 3);
  ASSERT_EQ(set.distances.size(), 2U);
  EXPECT_EQ(set.distances.at(1).pairs, 2);
  EXPECT_DOUBLE_EQ(set.distances.at(1).values[2]->value, 50);
  EXPECT_DOUBLE_EQ(set.distances.at(4).values[0]->value, 0);
  EXPECT_FALSE(set.distances.at(4).values[1]);
}

TEST(Contrasts, AreTestedForEachTwoSystemsWithAModel) {
  const ContrastSet set = contrast_set(contrasted_pairs(), {contrasted_scores("------"), contrasted_scores("++++++"),
                                                            std::nullopt, contrasted_scores("-++++-")});
  ASSERT_EQ(set.tests.size(), 3U);
  EXPECT_EQ(set.tests[1].a, 0);
  EXPECT_EQ(set.tests[1].b, 3);
  EXPECT_EQ(set.tests[1].only_a, 0);
  EXPECT_EQ(set.tests[1].only_b, 4);
  EXPECT_EQ(set.tests[2].only_a, 2);
  EXPECT_NEAR(set.tests[0].p, 2.0 / 64, 1e-12);
  EXPECT_NEAR(set.tests[0].p_holm, 6.0 / 64, 1e-12) << "the smallest of three";
  EXPECT_NEAR(set.tests[1].p_holm, 4.0 / 16, 1e-12);
  EXPECT_NEAR(set.tests[2].p_holm, 0.5, 1e-12);
}

}  // namespace
}  // namespace attend
