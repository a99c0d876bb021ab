// How good a model's answers to the records of a task are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "eval/answers/answers.hpp"
#include "eval/metrics/significance.hpp"

namespace attend {

struct MetricValue {
  std::string name = {};
  double value = 0;                           // from 0 to 1 or -1 to 1, as the metric is defined; spans: in percent
  std::optional<metrics::Interval> interval;  // of 95 in 100 samples
};

// All metrics of the task's kind, and under "score" the mean of those that choose the best checkpoint. Intervals are
// computed where asked for. A value that is not a number is warned of. The split is labelled.
std::vector<MetricValue> score(const TaskAnswers& answers, bool with_intervals);

}  // namespace attend
