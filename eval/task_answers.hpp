// What a model answers to the records of a task, and how good that is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/batch/task_split.hpp"
#include "eval/metrics/labels.hpp"
#include "eval/metrics/spans.hpp"
#include "models/text_model.hpp"

namespace attend {

struct AnswerConfig {
  std::int64_t max_answer = 30;
  std::int64_t nbest = 20;
  double null_threshold = 0;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("max-answer", self.max_answer, {.help = "spans: most tokens of an answer", .min = 1, .may_change = true});
    visit("nbest", self.nbest,
          {.help = "spans: begins and ends that are tried in a window, and answers that are given",
           .min = 1,
           .may_change = true});
    visit("null-threshold", self.null_threshold,
          {.help = "spans: no answer is given where its score is above that of the best answer by more",
           .may_change = true});
  }
};

// The answer to a question, and what else it could be.
struct SpanAnswer {
  struct Candidate {
    std::string text;        // of the context, letter by letter
    double score = 0;        // the logits of begin and end
    double probability = 0;  // among the candidates
  };
  std::vector<Candidate> candidates = {};  // best first, different texts; none where the context is empty
  double no_answer = 0;                    // the score of no answer, above that of the best one
};

// One entry a record, of the kind that the task has.
struct TaskAnswers {
  std::vector<std::vector<double>> numbers = {};  // probabilities of the labels, or of the tags; of a regression the
                                                  // number
  std::vector<SpanAnswer> spans = {};
  std::vector<std::vector<std::string>> tags = {};
  std::optional<double> loss = {};  // the mean, where the samples are labelled
};

// Answers to all records of a split. Interrupted when a signal asks to stop.
TaskAnswers answer(const TextModelImpl& model, const TaskSplit& split, const LabelledTask& task,
                   const AnswerConfig& config, torch::Device device, Labelled labelled);

// The number of the label that is given: the most probable one.
std::int64_t best_label(const std::vector<double>& probabilities);

// The text that is given: the best candidate, or nothing where `may_lack_answers` and no answer is more likely.
std::string given_answer(const SpanAnswer& answer, bool may_lack_answers, const AnswerConfig& config);

struct MetricValue {
  std::string name = {};
  double value = 0;                           // from 0 to 1 or -1 to 1, as the metric is defined; spans: in percent
  std::optional<metrics::Interval> interval;  // of 95 in 100 samples
};

// All metrics of the task's kind, the ones that choose the best checkpoint first, under "score" their mean.
//   classification  accuracy, f1 (of `positive`, or the mean over all labels of the task), matthews
//   multi-label     f1 (of all labels together), accuracy (of all labels of a text)
//   regression      pearson, spearman
//   spans           exact, f1, in percent, as the script of the file's version of SQuAD
//   tags            f1, precision, recall of chunks as conlleval, accuracy of tokens, strict_f1; without chunks the
//                   accuracy alone
// Intervals are found where asked for. A value that is no number is warned of. The split is labelled.
std::vector<MetricValue> score(const TaskAnswers& answers, const TaskSplit& split, const LabelledTask& task,
                               const AnswerConfig& config, bool with_intervals);

// The null threshold that would have given the best mean F1 of questions that may lack answers, and this F1, in
// percent, as the script of SQuAD 2.0 finds them; nothing where all have answers.
std::optional<metrics::BestThreshold> best_null_threshold(const TaskAnswers& answers, const TaskSplit& split);

}  // namespace attend
