// ROUGE (Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries"), equal to rouge-score 0.1.2 without
// stemming: the F1 of common n-grams (ROUGE-1, ROUGE-2) or of the longest common subsequence (ROUGE-L) of each pair, on
// lower-cased runs of a-z and 0-9; of several references the best. A corpus has the mean of its pairs.
//
// Not included: stemming, ROUGE-Lsum, and the medians of resampled means that rouge-score's aggregator gives.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eval/metrics/metric.hpp"

namespace attend::metrics {

class Rouge : public Metric {
 public:
  static constexpr int kLongestSubsequence = 0;  // ROUGE-L

  // `order`: of the n-grams, or kLongestSubsequence.
  explicit Rouge(int order) : order_(order) {}

  // F1, and 1 to count pairs.
  std::size_t width() const override { return 2; }
  std::vector<double> statistics(std::string_view hypothesis,
                                 std::span<const std::string_view> references) const override;
  double value(std::span<const double> statistics) const override;
  std::string name() const override {
    return order_ == kLongestSubsequence ? "ROUGE-L" : "ROUGE-" + std::to_string(order_);
  }

 protected:
  std::string settings() const override { return "case:lc|stem:no"; }
  std::string_view equals() const override { return "rouge-score0.1.2"; }

 private:
  int order_;
};

}  // namespace attend::metrics
