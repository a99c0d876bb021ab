#include "analysis/recall.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

#include "analysis/report/section_parts.hpp"
#include "eval/metrics/significance.hpp"

namespace attend {
namespace {

metrics::Interval interval_of(const std::vector<Found>& sentences, const Found& sum) {
  const auto with_words = std::ranges::count_if(sentences, [](const Found& sentence) { return sentence.all > 0; });
  if (static_cast<std::size_t>(with_words) < metrics::kFewestSegments) return {kNotMeasured, kNotMeasured};
  if (sum.found == 0 || sum.found == sum.all) {
    const metrics::Interval share = metrics::wilson(sum.found == 0 ? 0 : with_words, with_words);
    return {.low = 100 * share.low, .high = 100 * share.high};
  }
  return metrics::bootstrap(sentences.size(), [&](std::span<const std::size_t> chosen) {
    Found drawn;
    for (const std::size_t i : chosen) {
      drawn.all += sentences[i].all;
      drawn.found += sentences[i].found;
    }
    return 100 * drawn.found / drawn.all;
  });
}

Estimate recall_of(const std::vector<Found>& sentences) {
  Found sum;
  for (const Found& sentence : sentences) {
    sum.all += sentence.all;
    sum.found += sentence.found;
  }
  const metrics::Interval interval = interval_of(sentences, sum);
  return {.value = 100 * sum.found / sum.all, .low = interval.low, .high = interval.high};
}

}  // namespace

std::vector<BreakdownGroup> recall_by_group(const std::vector<std::string>& names, const FoundByGroup& found) {
  std::vector<BreakdownGroup> groups;
  for (std::size_t g = 0; g < names.size(); ++g) {
    double count = 0;
    for (const Found& sentence : found[g].at(0)) count += sentence.all;
    if (count == 0) continue;
    BreakdownGroup& group =
        groups.emplace_back(BreakdownGroup{.name = names[g], .count = static_cast<std::int64_t>(count)});
    for (const std::vector<Found>& sentences : found[g]) group.values.push_back(recall_of(sentences));
  }
  return groups;
}

}  // namespace attend
