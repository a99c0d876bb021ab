// How far a score of a sample can be trusted: intervals by the bootstrap, and tests of a difference between two systems
// on the same segments. Equal to sacreBLEU 2.6.0 where both draw the same samples; but equal scores have p = 1.
//
//   const Resamples samples = draw_resamples(tally_a.size());
//   const std::vector<double> a = resampled(tally_a, samples), b = resampled(tally_b, samples);
//   interval_of(a);                                                  // of system a
//   paired_bootstrap(a, b, tally_b.value() - tally_a.value());       // p
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "eval/metrics/metric.hpp"

namespace attend::metrics {

struct Interval {
  double low = 0;
  double high = 0;
};

// 95 % bootstrap confidence interval of a metric of n items (Efron and Tibshirani 1993: percentile interval, 1,000
// samples of n items with replacement). `metric` gets the indices of a sample.
Interval bootstrap(std::size_t n, const std::function<double(std::span<const std::size_t>)>& metric,
                   std::uint64_t seed = 12345);

// 95 % confidence interval of a fraction (Wilson 1927, as Brown, Cai and DasGupta 2001 recommend): the values from
// which `successes` of n > 0 trials differ by at most 1.96 standard errors. 9 of 10 give 0.596 to 0.982.
Interval wilson(std::int64_t successes, std::int64_t n);

// For each sample, the segments that it draws with replacement.
using Resamples = std::vector<std::vector<std::uint32_t>>;
Resamples draw_resamples(std::size_t num_segments, std::size_t num_samples = 1000, std::uint64_t seed = 12345);

// The score of each sample.
std::vector<double> resampled(const Tally& tally, const Resamples& samples);

// The 95 % interval of a score from those of its samples, which must not be empty: their mean plus and minus half the
// width between the percentiles 2.5 and 97.5.
Interval interval_of(std::vector<double> scores);

// Two-sided p-value of a difference between two systems from their scores of the same samples (Koehn 2004, W04-3250):
// how often the samples' differences, shifted to the mean 0, exceed it.
double paired_bootstrap(std::span<const double> a, std::span<const double> b, double difference);

// For each trial, whether a segment's two translations are exchanged.
using Exchanges = std::vector<std::vector<bool>>;
Exchanges draw_exchanges(std::size_t num_segments, std::size_t num_trials = 10000, std::uint64_t seed = 12345);

// Two-sided p-value by approximate randomisation (Riezler and Maxwell 2005, W05-0908): how often systems that exchange
// translations differ by more. Both tallies are of one metric and the same segments.
double approximate_randomisation(const Tally& a, const Tally& b, const Exchanges& trials);

// Two-sided p-value of the difference between the means of two groups by the exact permutation test: the share of all
// ways to divide the values into groups of these sizes whose difference is as large. Groups of at most kMostPermuted
// values; with three in each, it cannot be below 0.1.
inline constexpr std::size_t kMostPermuted = 12;
double permutation_test(std::span<const double> a, std::span<const double> b);

}  // namespace attend::metrics
