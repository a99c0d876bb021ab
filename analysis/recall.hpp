// How much of what was to be found was found, with a 95 % interval.
#pragma once

#include <vector>

#include "analysis/report/comparison.hpp"

namespace attend {

// Of a sentence, or of another part that is drawn as a whole: how many are to be found, and how many are.
struct Found {
  double all = 0;
  double found = 0;
};

// In percent of all parts together, at least one of which has something to find; the interval is the bootstrap's over
// parts.
Estimate recall_of(const std::vector<Found>& parts);

}  // namespace attend
