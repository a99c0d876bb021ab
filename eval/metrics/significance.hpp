// Confidence intervals of a score by the bootstrap, and significance tests of a difference between two systems on the
// same segments. Where systems do not differ, p < 0.05 in 5 % of test sets, small ones included. A difference between
// scores that are not finite has p = 1.
//
// sacreBLEU 2.6.0 computes other values from the same samples: its interval lies around the mean of the samples and may
// leave the range of the metric; its bootstrap centres |d|, which halves clear p-values; its randomisation does not
// count trials with an equal difference. significance_test.cpp has both.
//
//   const Resamples samples = draw_resamples(tally_a.size());
//   const std::vector<double> a = resampled(tally_a, samples), b = resampled(tally_b, samples);
//   interval_of(a, tally_a.size());                                                  // of system a
//   paired_bootstrap(a, b, tally_b.value() - tally_a.value(), tally_a.size());       // p
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "eval/metrics/metric.hpp"

namespace attend::metrics {

// Both bounds are NaN where too little is known.
struct Interval {
  double low = 0;
  double high = 0;
};

// Fewer segments give no interval: their resamples represent other segments too poorly.
inline constexpr std::size_t kFewestSegments = 10;

// 95 % bootstrap confidence interval of a metric of n items (Efron and Tibshirani 1993: percentile interval, 1,000
// samples of n items with replacement). `metric` gets the indices of a sample; values that are not finite are left out.
// Bounds are NaN as in interval_of().
Interval bootstrap(std::size_t n, const std::function<double(std::span<const std::size_t>)>& metric);

// 95 % confidence interval of a fraction (Wilson 1927, as Brown, Cai and DasGupta 2001 recommend): the values from
// which `successes` of n > 0 trials differ by at most 1.96 standard errors. 9 of 10 give 0.596 to 0.982.
Interval wilson(std::int64_t successes, std::int64_t n);

// One-sided p-value of a fraction, the exact binomial test: the probability of `successes` or more in n trials that
// each succeed with the probability `chance`, greater than 0 and less than 1. 9 of 10 at 0.5 give 11 / 1024; 0 of 0
// give 1.
double binomial_test(std::int64_t successes, std::int64_t n, double chance);

// The least p-value that so many random samples can give: none of them contradicts the difference.
constexpr double least_p(std::size_t samples) { return 1 / (1 + static_cast<double>(samples)); }

// For each sample, the segments that it draws with replacement.
using Resamples = std::vector<std::vector<std::uint32_t>>;
Resamples draw_resamples(std::size_t num_segments, std::size_t num_samples = 1000, std::uint64_t seed = 12345);

// The score of each sample.
std::vector<double> resampled(const Rows& rows, const Resamples& samples);

// The 95 % interval of a score from those of its samples: their percentiles 2.5 and 97.5. Bounds are NaN for fewer than
// kFewestSegments segments, where all samples have one score, and where one is not finite.
Interval interval_of(std::vector<double> scores, std::size_t num_segments);

// Two-sided p-value of a difference between two systems from their scores of the same samples (Koehn 2004, W04-3250):
// how often a sample's difference d* is at least as far from the difference d as d is from 0. |d* - d| is stretched by
// sqrt(n / (n - 3)) for n segments, since resamples vary by (n - 1) / n of the variance, and a t distribution of n - 1
// degrees by (n - 1) / (n - 3). 1 for 3 segments and fewer.
double paired_bootstrap(std::span<const double> a, std::span<const double> b, double difference,
                        std::size_t num_segments);

// For each trial, whether a segment's two translations are exchanged.
using Exchanges = std::vector<std::vector<bool>>;
Exchanges draw_exchanges(std::size_t num_segments, std::size_t num_trials = 10000, std::uint64_t seed = 12345);

// Two-sided p-value by approximate randomisation (Riezler and Maxwell 2005, W05-0908): how often systems that exchange
// translations differ by at least as much. Both are rows of one measure and the same segments.
double approximate_randomisation(const Rows& a, const Rows& b, const Exchanges& trials);

// Two-sided p-value of the difference between the means of two groups by the exact permutation test: the share of all
// ways to divide the values into groups of these sizes whose difference is at least as large. Groups of at most
// kMostPermuted values; with three in each, it cannot be below 0.1.
inline constexpr std::size_t kMostPermuted = 12;
double permutation_test(std::span<const double> a, std::span<const double> b);

// Two-sided p-value of the difference between two systems that are right or wrong on the same items, by McNemar's test
// (1947) in its exact form: each item on which one system alone is right is that system's with probability
// 1/2 where the systems do not differ. 1 and 9 such items give 22 / 1024; none gives 1.
double mcnemar(std::int64_t only_a, std::int64_t only_b);

// Holm's correction (1979) of the p-values of several tests: with the threshold 0.05, the probability that any of those
// without a true difference falls below is at most 0.05. The k-th smallest of m is multiplied by m - k + 1, but kept at
// or above the one before: 0.01, 0.04, 0.03 become 0.03, 0.06, 0.06.
std::vector<double> holm(std::span<const double> p_values);

// Sets p_holm of each of these tests, corrected for all of them; `p_of` is a member or a function.
template <class Tests, class POf>
void correct_by_holm(Tests&& tests, const POf& p_of) {
  std::vector<double> p_values;
  for (const auto& test : tests) p_values.push_back(std::invoke(p_of, test));
  const std::vector<double> corrected = holm(p_values);
  for (std::size_t i = 0; auto& test : tests) test.p_holm = corrected[i++];
}

}  // namespace attend::metrics
