// Recall: the share of the words to be found that were found, with a 95 % interval.
#pragma once

#include <vector>

#include "analysis/report/comparison.hpp"

namespace attend {

// The numbers of words to be found and found, in a sentence or another unit of the bootstrap.
struct Found {
  double all = 0;
  double found = 0;
};

// In percent of all parts together, at least one of which has something to find; the interval is the bootstrap's over
// parts.
Estimate recall_of(const std::vector<Found>& parts);

}  // namespace attend
