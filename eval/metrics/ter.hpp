// TER (Snover et al. 2006), equal to sacreBLEU 2.6.0's version of Tercom: the fewest insertions, deletions,
// substitutions and shifts of blocks of words that turn the hypothesis into a reference, over the mean reference
// length. The minimum is intractable, so shifts are chosen greedily within fixed limits, which are part of the metric.
#pragma once

#include <string>

#include "eval/metrics/metric.hpp"
#include "eval/metrics/tokenizers.hpp"

namespace attend::metrics {

class Ter : public Metric {
 public:
  explicit Ter(const TercomOptions& options = {}) : options_(options) {}

  // [edits to the nearest reference, mean length of the references].
  std::size_t width() const override { return 2; }
  std::vector<double> statistics(std::string_view hypothesis,
                                 std::span<const std::string_view> references) const override;
  // 0 is best; above 100 if there are more edits than reference words.
  double value(std::span<const double> statistics) const override;
  std::string name() const override { return "TER"; }
  nlohmann::ordered_json parts(std::span<const double> statistics) const override;

 protected:
  std::string settings() const override;

 private:
  TercomOptions options_;
};

}  // namespace attend::metrics
