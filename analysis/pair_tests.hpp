// Tests of the differences between systems, pair by pair, under every metric.
#pragma once

#include <vector>

#include "analysis/report/comparison.hpp"
#include "analysis/run_groups.hpp"
#include "eval/metrics/metric.hpp"

namespace attend {

// One output under one metric, or the test text of one language model under a measure.
struct ScoredOutput {
  metrics::Rows rows;
  std::vector<double> resampled;  // the scores of the resamples that all outputs share
};

// The score with its interval.
Estimate estimate_of(const ScoredOutput& output);

// Tests of all pairs on scored[output][metric], where the runs of a system are numbers of outputs. A system's first run
// stands for it, except in the tests over seeds. Interrupted after SIGINT or SIGTERM.
std::vector<PairTest> test_pairs(const std::vector<SystemRuns>& systems,
                                 const std::vector<std::vector<ScoredOutput>>& scored,
                                 const std::vector<ComparedMetric>& compared);

}  // namespace attend
