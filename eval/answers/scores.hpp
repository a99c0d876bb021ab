// Scores of a model's answers to the records of a task.
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
  std::optional<metrics::Interval> interval;  // 95 % bootstrap interval
};

// All metrics of the task's kind, and as "score" the mean of those that select the best checkpoint, optionally with
// intervals. Warns of values that are not numbers. The split must be labelled.
std::vector<MetricValue> score(const TaskAnswers& answers, bool with_intervals);

}  // namespace attend
