#include "eval/metrics/alignment_error.hpp"

#include <algorithm>

namespace attend::metrics {
namespace {

// The number of `links` that are in `gold`; both are sorted.
std::int64_t num_common(const std::vector<Link>& links, const std::vector<Link>& gold) {
  return std::ranges::count_if(links, [&](const Link& link) { return std::ranges::binary_search(gold, link); });
}

double percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

void AlignmentTally::add(const std::vector<Link>& links, const SentenceLinks& gold) {
  links_ += std::ssize(links);
  sure_ += std::ssize(gold.sure);
  possible_ += std::ssize(gold.possible);
  right_and_sure_ += num_common(links, gold.sure);
  right_and_possible_ += num_common(links, gold.possible);
}

double AlignmentTally::precision() const { return percent(right_and_possible_, links_); }

double AlignmentTally::recall() const { return percent(right_and_sure_, sure_); }

double AlignmentTally::error_rate() const {
  // The numerator is that of 1 - (...) / (...), so that no error gives exactly 0.
  return percent(links_ + sure_ - right_and_sure_ - right_and_possible_, links_ + sure_);
}

}  // namespace attend::metrics
