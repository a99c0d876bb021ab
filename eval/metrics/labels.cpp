#include "eval/metrics/labels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "core/error.hpp"

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
  const auto [least, greatest] = std::ranges::minmax(gold);  // rounding may leave yy above 0 for equal numbers
  if (xx == 0 || least == greatest) return std::numeric_limits<double>::quiet_NaN();
  return std::clamp(xy / (std::sqrt(xx) * std::sqrt(yy)), -1.0, 1.0);
}

double spearman(Numbers predicted, Numbers gold) {
  check_lengths(predicted.size(), gold.size());
  const auto is_nan = [](double number) { return std::isnan(number); };  // has no rank
  if (std::ranges::any_of(predicted, is_nan) || std::ranges::any_of(gold, is_nan)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return pearson(ranks(predicted), ranks(gold));
}

}  // namespace attend::metrics
