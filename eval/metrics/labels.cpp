#include "eval/metrics/labels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "core/error.hpp"
#include "core/random.hpp"

namespace attend::metrics {
namespace {

void check_lengths(std::size_t predicted, std::size_t gold) {
  ensure(predicted == gold && gold > 0, "there is one prediction per gold label, and at least one");
}

// Ranks from 1; ties share their mean rank.
std::vector<double> ranks(Numbers numbers) {
  std::vector<std::size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return numbers[a] < numbers[b]; });
  std::vector<double> ranks(numbers.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && numbers[order[end]] == numbers[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + end + 1) / 2;
  }
  return ranks;
}

}  // namespace

double accuracy(Labels predicted, Labels gold) {
  check_lengths(predicted.size(), gold.size());
  std::size_t equal = 0;
  for (std::size_t i = 0; i < gold.size(); ++i) equal += predicted[i] == gold[i];
  return static_cast<double>(equal) / static_cast<double>(gold.size());
}

double f1(Labels predicted, Labels gold, std::int64_t positive) {
  check_lengths(predicted.size(), gold.size());
  std::size_t both = 0, either = 0;
  for (std::size_t i = 0; i < gold.size(); ++i) {
    both += predicted[i] == positive && gold[i] == positive;
    either += (predicted[i] == positive) + (gold[i] == positive);
  }
  return either == 0 ? 0 : 2 * static_cast<double>(both) / static_cast<double>(either);
}

double matthews(Labels predicted, Labels gold) {
  check_lengths(predicted.size(), gold.size());
  struct Counts {
    double predicted = 0, gold = 0;
  };
  std::map<std::int64_t, Counts> counts;
  double correct = 0;
  for (std::size_t i = 0; i < gold.size(); ++i) {
    ++counts[predicted[i]].predicted;
    ++counts[gold[i]].gold;
    correct += predicted[i] == gold[i];
  }
  const auto n = static_cast<double>(gold.size());
  double both = correct * n, of_predicted = n * n, of_gold = n * n;
  for (const auto& [label, count] : counts) {
    both -= count.predicted * count.gold;
    of_predicted -= count.predicted * count.predicted;
    of_gold -= count.gold * count.gold;
  }
  return of_predicted * of_gold == 0 ? 0 : both / std::sqrt(of_predicted * of_gold);
}

double pearson(Numbers predicted, Numbers gold) {
  check_lengths(predicted.size(), gold.size());
  const auto mean = [](Numbers x) { return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size()); };
  const double mean_x = mean(predicted), mean_y = mean(gold);
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < gold.size(); ++i) {
    const double x = predicted[i] - mean_x, y = gold[i] - mean_y;
    xy += x * y;
    xx += x * x;
    yy += y * y;
  }
  if (xx == 0 || yy == 0) return std::numeric_limits<double>::quiet_NaN();
  return std::clamp(xy / (std::sqrt(xx) * std::sqrt(yy)), -1.0, 1.0);
}

double spearman(Numbers predicted, Numbers gold) {
  check_lengths(predicted.size(), gold.size());
  return pearson(ranks(predicted), ranks(gold));
}

Interval bootstrap(std::size_t n, const std::function<double(std::span<const std::size_t>)>& metric,
                   std::uint64_t seed) {
  constexpr std::size_t kSamples = 1000;
  RandomStream random(seed);
  std::vector<double> values;
  std::vector<std::size_t> sample(n);
  for (std::size_t i = 0; i < kSamples; ++i) {
    for (std::size_t& item : sample) item = random.below(n);
    if (const double value = metric(sample); std::isfinite(value)) values.push_back(value);
  }
  if (values.empty()) return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  std::ranges::sort(values);
  const std::size_t tail = values.size() / 40;
  return {.low = values[tail], .high = values[values.size() - 1 - tail]};
}

Interval wilson(std::int64_t successes, std::int64_t n) {
  ensure(0 <= successes && successes <= n && n > 0, "successes among at least one trial");
  constexpr double kErrors = 1.959963984540054;  // the 97.5th percentile of the normal distribution
  const auto trials = static_cast<double>(n);
  const double share = static_cast<double>(successes) / trials, squared = kErrors * kErrors / trials;
  const double centre = (share + squared / 2) / (1 + squared);
  const double half = kErrors / (1 + squared) * std::sqrt((share * (1 - share) + squared / 4) / trials);
  return {.low = centre - half, .high = centre + half};
}

}  // namespace attend::metrics
