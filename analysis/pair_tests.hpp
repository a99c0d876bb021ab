// Tests of the differences between systems, pair by pair, under every metric.
#pragma once

#include <vector>

#include "analysis/paired_changes.hpp"
#include "analysis/report/comparison.hpp"
#include "analysis/run_groups.hpp"

namespace attend {

// Tests of all pairs on scored[output][metric], where the runs of a system are numbers of outputs. A system's first run
// stands for it, except in the tests over seeds. Interrupted after SIGINT or SIGTERM.
std::vector<PairTest> test_pairs(const std::vector<SystemRuns>& systems,
                                 const std::vector<std::vector<ScoredOutput>>& scored,
                                 const std::vector<ComparedMetric>& compared);

}  // namespace attend
