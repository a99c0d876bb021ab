// Predicted labels and numbers beside the gold ones: the metrics of GLUE (Wang et al. 2018), equal to scikit-learn's
// and SciPy's. Both sides are of one length, which is not zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace attend::metrics {

using Labels = std::span<const std::int64_t>;
using Numbers = std::span<const double>;

// The share of equal labels.
double accuracy(Labels predicted, Labels gold);

// The harmonic mean of precision and recall of the label `positive`; 0 where neither side has it.
double f1(Labels predicted, Labels gold, std::int64_t positive);

// Matthews' correlation of any number of labels (Gorodkin 2004); 0 where one side has but one label.
double matthews(Labels predicted, Labels gold);

// Correlation of the numbers, and of their ranks (equal numbers share the mean of theirs). NaN where one side is
// constant.
double pearson(Numbers predicted, Numbers gold);
double spearman(Numbers predicted, Numbers gold);

// What a metric of n items is in 95 of 100 samples of n, drawn with replacement (Efron and Tibshirani 1993, the
// percentile interval of 1,000 samples). `metric` is given the items of a sample.
struct Interval {
  double low = 0;
  double high = 0;
};
Interval bootstrap(std::size_t n, const std::function<double(std::span<const std::size_t>)>& metric,
                   std::uint64_t seed = 12345);

}  // namespace attend::metrics
