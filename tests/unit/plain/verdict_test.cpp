// Sentences on tests of pairs: which system they call better, and by how much.
#include "analysis/report/section_parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "eval/metrics/significance.hpp"

namespace attend {
namespace {

bool says(const PairTest& test, const std::string& text) {
  const bool found = verdict_of(test, "one", "two").find(text) != std::string::npos;
  if (!found) ADD_FAILURE() << verdict_of(test, "one", "two");
  return found;
}

PairTest pair_test(const std::string& metric, double difference, double p_bootstrap, double p_randomisation) {
  return {.a = 0,
          .b = 1,
          .metric = metric,
          .lower_is_better = metric == "TER",
          .difference = {.value = difference, .low = 0, .high = 0},
          .p_bootstrap = p_bootstrap,
          .p_randomisation = p_randomisation,
          .p_holm = std::max(p_bootstrap, p_randomisation),
          .seeds = {}};
}

TEST(Verdict, NamesTheBetterSystem) {
  EXPECT_TRUE(says(pair_test("BLEU", 1.25, 0.01, 0.02), "BLEU of one and two: two is better by 1.25, a significant"));
  EXPECT_TRUE(says(pair_test("BLEU", -1.25, 0.01, 0.02), ": one is better by 1.25, a significant"));
  EXPECT_TRUE(says(pair_test("TER", 1.25, 0.01, 0.02), ": one is better by 1.25, a significant"));
  EXPECT_TRUE(says(pair_test("TER", -1.25, 0.01, 0.02), ": two is better by 1.25, a significant"));
  EXPECT_TRUE(says(pair_test("BLEU", 1.25, 0.06, 0.04), "one test finds it significant and the other does not"));
  EXPECT_TRUE(says(pair_test("BLEU", 1.25, 0.06, 0.07), "the difference of 1.25 is not significant"));
  EXPECT_TRUE(says(pair_test("BLEU", 0, 1, 1), "the scores are equal"));
  EXPECT_TRUE(says(pair_test("Perplexity", std::nan(""), 1, 1), "not compared, since a score is not a finite number"));
}

TEST(Verdict, CorrectsForTheNumberOfPairs) {
  PairTest test = pair_test("BLEU", 1.25, 0.01, 0.02);
  test.p_holm = 0.06;
  EXPECT_TRUE(says(test, "1.25 is not significant after correction for the number of pairs"));
}

// The first runs favour two by 0.4, the means of five seeds favour one by 1.52: both directions are named.
TEST(Verdict, SeedsHaveTheirOwnDirection) {
  const std::vector<double> one{30, 31, 31.1, 31.2, 31.3}, two{30.4, 29, 29.1, 29.2, 29.3};
  const auto mean = [](const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0) / 5; };
  const double p = metrics::permutation_test(one, two);
  EXPECT_NEAR(p, 4.0 / 252, 1e-12);
  for (const bool is_error : {false, true}) {
    PairTest test = pair_test(is_error ? "TER" : "BLEU", two[0] - one[0], 0.01, 0.02);
    test.seeds = SeedTest{.difference = mean(two) - mean(one), .p = p, .p_holm = p};
    const std::string first = is_error ? "one" : "two", over_seeds = is_error ? "two" : "one";
    EXPECT_TRUE(says(test, ": " + first + " is better by 0.40, a significant difference on this test set."));
    EXPECT_TRUE(says(test, " Over seeds, the mean of " + over_seeds + " is better by 1.52, a significant difference."));
    test.seeds->p_holm = 0.2;
    EXPECT_TRUE(says(test, " is better by 1.52, which is not significant."));
    test.seeds->difference = 0;
    EXPECT_TRUE(says(test, " Over seeds, the means are equal."));
  }
}

}  // namespace
}  // namespace attend
