#include "eval/metrics/significance.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/error.hpp"
#include "core/random.hpp"

namespace attend::metrics {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Equal differences of scores, in percent, differ by less where their sums were rounded in another order.
constexpr double kSlack = 1e-9;

// One is added to both counts, so that no p-value is 0.
double p_value(std::size_t as_large, std::size_t samples) {
  return static_cast<double>(as_large + 1) / static_cast<double>(samples + 1);
}

// Also if one of them is not a number: an unknown difference is no evidence.
bool is_as_large(double distance, double difference) { return !(distance < difference); }

void add(std::vector<double>& sum, std::span<const double> row) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += row[i];
}

}  // namespace

Interval bootstrap(std::size_t n, const std::function<double(std::span<const std::size_t>)>& metric) {
  constexpr std::size_t kSamples = 1000;
  constexpr std::uint64_t kSeed = 12345;
  if (n < kFewestSegments) return {kNaN, kNaN};
  RandomStream random(kSeed);
  std::vector<double> values;
  std::vector<std::size_t> sample(n);
  for (std::size_t i = 0; i < kSamples; ++i) {
    for (std::size_t& item : sample) item = random.below(n);
    if (const double value = metric(sample); std::isfinite(value)) values.push_back(value);
  }
  return interval_of(std::move(values), n);
}

Interval wilson(std::int64_t successes, std::int64_t n) {
  ensure(0 <= successes && successes <= n && n > 0, "successes among at least one trial");
  constexpr double kErrors = 1.959963984540054;  // the 97.5th percentile of the normal distribution
  const auto trials = static_cast<double>(n);
  const double share = static_cast<double>(successes) / trials, squared = kErrors * kErrors / trials;
  const double centre = (share + squared / 2) / (1 + squared);
  const double half = kErrors / (1 + squared) * std::sqrt((share * (1 - share) + squared / 4) / trials);
  return {.low = std::max(0.0, centre - half), .high = std::min(1.0, centre + half)};  // rounding may pass the ends
}

double binomial_test(std::int64_t successes, std::int64_t n, double chance) {
  ensure(0 <= successes && successes <= n && 0 < chance && chance < 1, "successes among trials of which some fail");
  const auto log_factorial = [](std::int64_t number) { return std::lgamma(static_cast<double>(number) + 1); };
  double p = 0;
  for (std::int64_t k = successes; k <= n; ++k) {
    p += std::exp(log_factorial(n) - log_factorial(k) - log_factorial(n - k) +
                  static_cast<double>(k) * std::log(chance) + static_cast<double>(n - k) * std::log1p(-chance));
  }
  return std::min(p, 1.0);
}

Resamples draw_resamples(std::size_t num_segments, std::size_t num_samples, std::uint64_t seed) {
  RandomStream random(seed);
  Resamples samples(num_samples, std::vector<std::uint32_t>(num_segments));
  for (std::vector<std::uint32_t>& sample : samples) {
    for (std::uint32_t& segment : sample) segment = static_cast<std::uint32_t>(random.below(num_segments));
  }
  return samples;
}

std::vector<double> resampled(const Rows& rows, const Resamples& samples) {
  std::vector<double> scores;
  scores.reserve(samples.size());
  for (const std::vector<std::uint32_t>& sample : samples) {
    std::vector<double> sum(rows.measure().width());
    for (const std::uint32_t segment : sample) add(sum, rows.row(segment));
    scores.push_back(rows.measure().value(sum));
  }
  return scores;
}

Interval interval_of(std::vector<double> scores, std::size_t num_segments) {
  const auto is_finite = [](double score) { return std::isfinite(score); };
  if (num_segments < kFewestSegments || scores.empty() || !std::ranges::all_of(scores, is_finite)) return {kNaN, kNaN};
  std::ranges::sort(scores);
  if (scores.front() == scores.back()) return {kNaN, kNaN};
  const std::size_t tail = scores.size() / 40;
  return {.low = scores[tail], .high = scores[scores.size() - 1 - tail]};
}

double paired_bootstrap(std::span<const double> a, std::span<const double> b, double difference,
                        std::size_t num_segments) {
  ensure(!a.empty() && a.size() == b.size(), "both systems have the same samples");
  if (num_segments <= 3) return 1;
  const auto segments = static_cast<double>(num_segments);
  const double stretch = std::sqrt(segments / (segments - 3));
  std::size_t as_large = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (is_as_large(stretch * std::abs(b[i] - a[i] - difference), std::abs(difference) - kSlack)) ++as_large;
  }
  return p_value(as_large, a.size());
}

Exchanges draw_exchanges(std::size_t num_segments, std::size_t num_trials, std::uint64_t seed) {
  RandomStream random(seed);
  Exchanges trials(num_trials, std::vector<bool>(num_segments));
  for (std::vector<bool>& trial : trials) {
    for (std::size_t segment = 0; segment < num_segments;) {
      std::uint64_t bits = random();
      for (int i = 0; i < 64 && segment < num_segments; ++i, bits >>= 1) trial[segment++] = (bits & 1) != 0;
    }
  }
  return trials;
}

double approximate_randomisation(const Rows& a, const Rows& b, const Exchanges& trials) {
  ensure(a.size() == b.size(), "both systems have the same segments");
  const double difference = std::abs(b.value() - a.value());
  std::size_t as_large = 0;
  for (const std::vector<bool>& trial : trials) {
    std::vector<double> one(a.measure().width()), other(a.measure().width());
    for (std::size_t segment = 0; segment < a.size(); ++segment) {
      add(trial[segment] ? other : one, a.row(segment));
      add(trial[segment] ? one : other, b.row(segment));
    }
    const double distance = std::abs(a.measure().value(one) - a.measure().value(other));
    if (is_as_large(distance, difference - kSlack)) ++as_large;
  }
  return p_value(as_large, trials.size());
}

double permutation_test(std::span<const double> a, std::span<const double> b) {
  ensure(!a.empty() && !b.empty() && a.size() <= kMostPermuted && b.size() <= kMostPermuted,
         "groups of 1 to 12 values");
  std::vector<double> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  const double sum = std::accumulate(all.begin(), all.end(), 0.0);
  const auto distance = [&](double sum_of_a) {
    return std::abs(sum_of_a / static_cast<double>(a.size()) - (sum - sum_of_a) / static_cast<double>(b.size()));
  };
  const double actual = distance(std::accumulate(a.begin(), a.end(), 0.0));
  const double slack = 1e-12 * (1 + std::abs(sum));  // sums in another order
  std::size_t ways = 0, as_large = 0;
  for (std::uint32_t chosen = 0; chosen < 1u << all.size(); ++chosen) {
    if (static_cast<std::size_t>(std::popcount(chosen)) != a.size()) continue;
    double sum_of_a = 0;
    for (std::size_t i = 0; i < all.size(); ++i) sum_of_a += (chosen >> i & 1) != 0 ? all[i] : 0.0;
    ++ways;
    if (is_as_large(distance(sum_of_a), actual - slack)) ++as_large;
  }
  return static_cast<double>(as_large) / static_cast<double>(ways);
}

double mcnemar(std::int64_t only_a, std::int64_t only_b) {
  return std::min(1.0, 2 * binomial_test(std::max(only_a, only_b), only_a + only_b, 0.5));
}

std::vector<double> holm(std::span<const double> p_values) {
  std::vector<std::size_t> ascending(p_values.size());
  std::iota(ascending.begin(), ascending.end(), std::size_t{0});
  std::ranges::sort(ascending, {}, [&](std::size_t i) { return p_values[i]; });
  std::vector<double> corrected(p_values.size());
  double least = 0;
  for (std::size_t k = 0; k < ascending.size(); ++k) {
    least = std::max(least, std::min(1.0, p_values[ascending[k]] * static_cast<double>(p_values.size() - k)));
    corrected[ascending[k]] = least;
  }
  return corrected;
}

}  // namespace attend::metrics
