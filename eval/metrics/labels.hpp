// Metrics of predicted labels and numbers against gold ones: those of GLUE (Wang et al. 2018), equal to scikit-learn's
// and SciPy's. Both sides have the same non-zero length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace attend::metrics {

using Labels = std::span<const std::int64_t>;
using Numbers = std::span<const double>;

// Accuracy: the fraction of equal labels.
double accuracy(Labels predicted, Labels gold);

// F1 of the label `positive`; 0 if neither side has it.
double f1(Labels predicted, Labels gold, std::int64_t positive);

// Matthews' correlation for any number of labels (Gorodkin 2004); 0 if one side is constant.
double matthews(Labels predicted, Labels gold);

// Pearson and Spearman correlation (ties share their mean rank). NaN if one side is constant.
double pearson(Numbers predicted, Numbers gold);
double spearman(Numbers predicted, Numbers gold);

// 95 % bootstrap confidence interval of a metric of n items (Efron and Tibshirani 1993: percentile interval, 1,000
// samples of n items with replacement). `metric` gets the indices of a sample.
struct Interval {
  double low = 0;
  double high = 0;
};
Interval bootstrap(std::size_t n, const std::function<double(std::span<const std::size_t>)>& metric,
                   std::uint64_t seed = 12345);

// 95 % confidence interval of a fraction (Wilson 1927, as Brown, Cai and DasGupta 2001 recommend): the values from
// which `successes` of n > 0 trials differ by at most 1.96 standard errors. 9 of 10 give 0.596 to 0.982.
Interval wilson(std::int64_t successes, std::int64_t n);

}  // namespace attend::metrics
