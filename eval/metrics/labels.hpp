// Metrics of predicted labels and numbers against gold ones: those of GLUE (Wang et al. 2018), equal to scikit-learn's
// and SciPy's. Both sides have the same non-zero length.
#pragma once

#include <cstdint>
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

// Pearson and Spearman correlation (ties share their mean rank). NaN if one side is constant or contains a NaN.
double pearson(Numbers predicted, Numbers gold);
double spearman(Numbers predicted, Numbers gold);

}  // namespace attend::metrics
