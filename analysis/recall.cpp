#include "analysis/recall.hpp"

#include <cstddef>
#include <numeric>
#include <span>

#include "eval/metrics/significance.hpp"

namespace attend {

Estimate recall_of(const std::vector<Found>& parts) {
  const auto recall = [&](std::span<const std::size_t> chosen) {
    Found sum;
    for (const std::size_t i : chosen) {
      sum.all += parts[i].all;
      sum.found += parts[i].found;
    }
    return 100 * sum.found / sum.all;
  };
  std::vector<std::size_t> all(parts.size());
  std::iota(all.begin(), all.end(), 0);
  const metrics::Interval interval = metrics::bootstrap(parts.size(), recall);
  return {.value = recall(all), .low = interval.low, .high = interval.high};
}

}  // namespace attend
