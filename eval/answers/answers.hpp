// What a model answers to the records of a task, how it is scored, and the forms in which it is written: a class for
// each kind of task.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/options.hpp"
#include "data/task/task_split.hpp"
#include "eval/metrics/spans.hpp"

namespace attend {

class TextModelImpl;

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

// A metric of some of the records.
struct NamedMeasure {
  using Subset = std::span<const std::size_t>;
  std::string name;
  std::function<double(Subset)> of;
};

// Refers to the split and the task that it is made of.
class TaskAnswers {
 public:
  TaskAnswers(const TaskSplit& split, const LabelledTask& task) : split_(split), task_(task) {}
  virtual ~TaskAnswers() = default;

  // Takes what a head predicts of some samples, on the CPU (Head::predict). After the last ones: finish().
  virtual void add(std::span<const Sample* const> samples, const torch::Tensor& predicted) = 0;
  virtual void finish() {}

  // All metrics of the kind, of a split that is labelled; and of questions that may lack answers the null threshold
  // that would have given the best mean F1, and this F1, in percent, as the script of SQuAD 2.0 finds them.
  virtual std::vector<NamedMeasure> measures() const = 0;
  virtual std::optional<metrics::BestThreshold> best_null_threshold() const { return std::nullopt; }

  // The answer to record `i`: alone, with what stands behind it, and as an object with probabilities.
  virtual std::string text(std::size_t i) const = 0;
  virtual std::optional<double> probability(std::size_t /*i*/) const { return std::nullopt; }
  virtual nlohmann::ordered_json json(std::size_t i) const = 0;
  // What names record `i` in the JSON of a file: a member and its value.
  virtual nlohmann::ordered_json name(std::size_t i) const;

  // All answers in the form that a leaderboard wants: GLUE's table of index and prediction, unless it is another's.
  virtual void write(std::ostream& out) const;

  const TaskSplit& split() const { return split_; }
  const LabelledTask& task() const { return task_; }

  std::optional<double> loss = {};  // the mean, where the samples are labelled

 protected:
  const TaskSplit& split_;
  const LabelledTask& task_;
};

// Answers that are not yet given.
std::unique_ptr<TaskAnswers> make_answers(const TaskSplit& split, const LabelledTask& task, const AnswerConfig& config);

// The model's answers to all records of a split. Interrupted when a signal asks to stop.
std::unique_ptr<TaskAnswers> answer(const TextModelImpl& model, const TaskSplit& split, const LabelledTask& task,
                                    const AnswerConfig& config, torch::Device device, Labelled labelled);

// The kinds, each in a file of its name.
std::unique_ptr<TaskAnswers> classification_answers(const TaskSplit& split, const LabelledTask& task);
std::unique_ptr<TaskAnswers> multi_label_answers(const TaskSplit& split, const LabelledTask& task);
std::unique_ptr<TaskAnswers> regression_answers(const TaskSplit& split, const LabelledTask& task);
std::unique_ptr<TaskAnswers> span_answers(const TaskSplit& split, const LabelledTask& task, const AnswerConfig& config);
std::unique_ptr<TaskAnswers> tag_answers(const TaskSplit& split, const LabelledTask& task);

// Those at the places of `subset`.
template <class T>
std::vector<T> chosen(const std::vector<T>& items, NamedMeasure::Subset subset) {
  std::vector<T> result;
  for (const std::size_t i : subset) result.push_back(items[i]);
  return result;
}

// Of predictions with a row a sample: calls see(example, row) for each.
template <class See>
void for_each_row(std::span<const Sample* const> samples, const torch::Tensor& predicted, See see) {
  const torch::Tensor rows = predicted.contiguous();
  const auto width = static_cast<std::size_t>(rows.size(1));
  const float* row = rows.const_data_ptr<float>();
  for (const Sample* sample : samples) {
    see(static_cast<std::size_t>(sample->example), std::span(row, width));
    row += width;
  }
}

}  // namespace attend
