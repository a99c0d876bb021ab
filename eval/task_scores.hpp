// How good a model's answers to the records of a task are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "eval/metrics/labels.hpp"
#include "eval/metrics/spans.hpp"
#include "eval/task_answers.hpp"

namespace attend {

struct MetricValue {
  std::string name = {};
  double value = 0;                           // from 0 to 1 or -1 to 1, as the metric is defined; spans: in percent
  std::optional<metrics::Interval> interval;  // of 95 in 100 samples
};

// All metrics of the task's kind, and under "score" the mean of those that choose the best checkpoint.
//   classification  accuracy, f1 (of `positive`, or the mean over all labels of the task), matthews
//   multi-label     f1 (of all labels together), accuracy (of all labels of a text)
//   regression      pearson, spearman
//   spans           f1, exact, in percent, as the script of the file's version of SQuAD
//   tags            f1, precision, recall of chunks as conlleval, accuracy of tokens, strict_f1; without chunks the
//                   accuracy alone
// Intervals are found where asked for. A value that is no number is warned of. The split is labelled.
std::vector<MetricValue> score(const TaskAnswers& answers, const TaskSplit& split, const LabelledTask& task,
                               const AnswerConfig& config, bool with_intervals);

// The null threshold that would have given the best mean F1 of questions that may lack answers, and this F1, in
// percent, as the script of SQuAD 2.0 finds them; nothing where all have answers.
std::optional<metrics::BestThreshold> best_null_threshold(const TaskAnswers& answers, const TaskSplit& split);

}  // namespace attend
