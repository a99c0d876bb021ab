// What a model answers to the records of a task.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/task/task_split.hpp"
#include "models/bert/text_model.hpp"

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

}  // namespace attend
