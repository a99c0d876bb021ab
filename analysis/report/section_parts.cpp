#include "analysis/report/section_parts.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "core/text.hpp"

namespace attend {
namespace {

// Scores that are equal may differ by the rounding of their sums.
bool is_zero(double difference) { return std::abs(difference) < 1e-9; }

}  // namespace

std::string verdict_of(const PairTest& test, const std::string& a, const std::string& b) {
  const auto better = [&](double difference) { return (difference > 0) != test.lower_is_better ? b : a; };
  const auto size_of = [&](double difference) { return fixed(std::abs(difference), test.decimals); };
  const double difference = test.difference.value;
  const auto [least, greatest] = test.p_range();
  std::string text = fmt::format("{} of {} and {}: ", test.metric, a, b);
  if (!std::isfinite(difference)) {
    text += "not compared, since a score is not a finite number.";
  } else if (is_zero(difference)) {
    text += "the scores are equal.";
  } else if (test.p_holm < kSignificant) {
    text += fmt::format("{} is better by {}, a significant difference on this test set.", better(difference),
                        size_of(difference));
  } else if (greatest < kSignificant) {
    text += fmt::format("the difference of {} is not significant after correction for the number of pairs.",
                        size_of(difference));
  } else if (least < kSignificant) {
    text += fmt::format("the difference of {} is not certain: one test finds it significant and the other does not.",
                        size_of(difference));
  } else {
    text += fmt::format("the difference of {} is not significant; this test set does not show which is better.",
                        size_of(difference));
  }
  if (!test.seeds || !std::isfinite(test.seeds->difference)) return text;
  const SeedTest& seeds = *test.seeds;
  if (is_zero(seeds.difference)) return text + " Over seeds, the means are equal.";
  return text + fmt::format(" Over seeds, the mean of {} is better by {}, {}.", better(seeds.difference),
                            size_of(seeds.difference),
                            seeds.p_holm < kSignificant ? "a significant difference" : "which is not significant");
}

}  // namespace attend
