// Recall: the share of the words to be found that were found, with a 95 % interval.
#pragma once

#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"

namespace attend {

// The number of words or pairs of a sentence that are to be found, and of those that are found.
struct Found {
  double all = 0;
  double found = 0;
};

// [group][system][sentence], with at least one system; all systems have the same to find.
using FoundByGroup = std::vector<std::vector<std::vector<Found>>>;

// The recall of each system in each group that has something to find, in percent. Words of one sentence depend on each
// other, so the interval is a bootstrap over sentences; if all or none are found, resamples do not vary, and it is
// Wilson's, with a trial for each sentence that has something to find. Fewer than metrics::kFewestSegments such
// sentences have no interval.
std::vector<BreakdownGroup> recall_by_group(const std::vector<std::string>& names, const FoundByGroup& found);

}  // namespace attend
