// A model's answers to the records of a task, their scores and their output formats: one class per kind of task.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/log.hpp"
#include "core/options.hpp"
#include "data/task/samples.hpp"
#include "eval/metrics/predictions.hpp"
#include "eval/metrics/significance.hpp"

namespace attend {

class TextModelImpl;

struct AnswerConfig {
  std::int64_t max_answer = 30;
  std::int64_t nbest = 20;  // printed answers; an option of attend predict only
  double null_threshold = 0;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("max-answer", self.max_answer, {.help = "maximum tokens of an answer", .min = 1, .only = kOfSpans});
    visit("null-threshold", self.null_threshold,
          {.help = "give no answer if the score of no answer exceeds that of the best answer by more than this",
           .only = kOfSpans});
  }
};

// Sets `answers` to the values with which a fine-tuned run was validated, except for given options.
void adopt_answers(AnswerConfig& answers, const std::filesystem::path& run, const OptionOrigins& origins);

// A metric over a subset of the records, at most 1.
struct NamedMeasure {
  using Subset = std::span<const std::size_t>;
  std::string name;
  std::function<double(Subset)> of;
};

// A choice between labels: of a text (or, of several labels, whether it has one of them), the tag of a word, or an
// answer among spans.
struct Decision {
  std::optional<std::size_t> gold = {}, predicted = {};  // numbers of labels or tags
  double probability = 0;                                // of the choice
  bool right = false;
};

// Refers to its split and task, which must outlive it.
class TaskAnswers {
 public:
  using Subset = NamedMeasure::Subset;

  TaskAnswers(const TaskSplit& split, const LabelledTask& task) : split_(split), task_(task) {}
  virtual ~TaskAnswers() = default;

  // Takes the predictions of a head for some samples, on the CPU (Head::predict). finish() follows the last ones.
  virtual void add(std::span<const Sample* const> samples, const torch::Tensor& predicted) = 0;
  virtual void finish() {}

  // Takes the answers in a file, made by another program, instead of predictions: a line for each record, of which text
  // after a tab is ignored, or the table of write(); of spans and tags, the file of write(). They have no
  // probabilities. Throws UserError naming the file unless it has an answer of the task to each record.
  virtual void read(const std::string& file) = 0;

  // All metrics of the kind, for a labelled split; and, for questions that may lack answers, the null threshold with
  // the best mean F1 and this F1, in percent, as computed by the script of SQuAD 2.0.
  virtual std::vector<NamedMeasure> measures() const = 0;
  virtual std::optional<metrics::BestThreshold> best_null_threshold() const { return std::nullopt; }

  // The answer to record `i`, its probability, and an object with all probabilities.
  virtual std::string text(std::size_t i) const = 0;
  virtual std::optional<double> probability(std::size_t /*i*/) const { return std::nullopt; }
  virtual nlohmann::ordered_json json(std::size_t i) const = 0;
  // What was decided for record `i` of a labelled split; nothing if the answer is a number.
  virtual std::vector<Decision> decisions(std::size_t /*i*/) const { return {}; }
  // The member that identifies record `i` in JSON output, with its value.
  virtual nlohmann::ordered_json name(std::size_t i) const;

  // All answers in the format of the task's leaderboard; by default GLUE's table of index and prediction.
  virtual void write(std::ostream& out) const;

  const TaskSplit& split() const { return split_; }
  const LabelledTask& task() const { return task_; }

  std::optional<double> loss = {};  // the mean, if the samples are labelled

 protected:
  // Calls take(i, answer) for the answers in the lines of a file, as labels or numbers of the task.
  void read_lines(const std::string& file, const std::function<void(std::size_t, const Gold&)>& take) const;
  // Throws UserError if a file has another number of answers than there are records.
  void check_count(const std::string& file, std::int64_t answers) const;

  const TaskSplit& split_;
  const LabelledTask& task_;
};

// Answers without predictions yet.
std::unique_ptr<TaskAnswers> make_answers(const TaskSplit& split, const LabelledTask& task, const AnswerConfig& config);

// The model's answers to all records of a split; `progress` counts them. Throws Interrupted when a signal requests
// a stop.
std::unique_ptr<TaskAnswers> answer(const TextModelImpl& model, const TaskSplit& split, const LabelledTask& task,
                                    const AnswerConfig& config, torch::Device device, Labelled labelled,
                                    WorkProgress* progress = nullptr);

// The answers to all records of a split by some model.
using AnswerSplit = std::function<std::unique_ptr<TaskAnswers>(const TaskSplit&, WorkProgress&)>;

struct MetricValue {
  std::string name = {};
  double value = 0;                           // in percent, also of correlations
  std::optional<metrics::Interval> interval;  // 95 % bootstrap interval; NaN without one
};

// All metrics of the task's kind, and as "score" the mean of those that select the best checkpoint, optionally with
// intervals. Warns of values that are not numbers. The split must be labelled.
std::vector<MetricValue> score(const TaskAnswers& answers, bool with_intervals);

}  // namespace attend
