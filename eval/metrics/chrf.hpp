// chrF2 (Popović 2015) and chrF2++ (Popović 2017, with word n-grams), equal to sacreBLEU 2.6.0: character n-grams up to
// order 6 over text without white space, recall weighing twice as much as precision.
//
// Left out: other character orders and weights, white space as a character, and the epsilon smoothing of chrF++.py.
#pragma once

#include <string>

#include "eval/metrics/metric.hpp"

namespace attend::metrics {

inline constexpr int kChrfOrder = 6;  // of characters

struct ChrfOptions {
  int word_order = 0;  // 0 is chrF2, 2 is chrF2++
  bool lowercase = false;
};

class Chrf : public Metric {
 public:
  explicit Chrf(const ChrfOptions& options = {}) : options_(options) {}

  // For each order, characters first: n-grams in the hypothesis, in the reference, and matches, for the reference that
  // gives the segment its best score.
  std::size_t width() const override;
  std::vector<double> statistics(std::string_view hypothesis,
                                 std::span<const std::string_view> references) const override;
  double value(std::span<const double> statistics) const override;
  std::string name() const override;

 protected:
  std::string settings() const override;

 private:
  ChrfOptions options_;
};

}  // namespace attend::metrics
