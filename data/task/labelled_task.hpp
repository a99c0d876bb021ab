// What a fine-tuning task is: where its texts and labels stand in which files, and how an answer is scored. A task is a
// built-in name (GLUE's, SQuAD's and CoNLL-2003's own files, and the sets of `attend toy`) or a TOML file with these
// keys.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options.hpp"
#include "data/text/table.hpp"

namespace attend {

enum class TaskKind { classification, multi_label, regression, spans, tags };
template <>
struct EnumNames<TaskKind> {
  static constexpr std::array names{std::pair{TaskKind::classification, std::string_view("classification")},
                                    std::pair{TaskKind::multi_label, std::string_view("multi-label")},
                                    std::pair{TaskKind::regression, std::string_view("regression")},
                                    std::pair{TaskKind::spans, std::string_view("spans")},
                                    std::pair{TaskKind::tags, std::string_view("tags")}};
};

// Whether a text or pair is answered as a whole, not token by token.
constexpr bool is_of_sequences(TaskKind kind) { return kind != TaskKind::spans && kind != TaskKind::tags; }

// A file to learn from or to score has labels; one that is to be predicted may lack them, and is read without.
enum class Labelled { yes, no };

struct LabelledTask {
  TaskKind kind = TaskKind::classification;
  std::vector<std::string> text = {"sentence"};
  std::string label = "label";
  std::vector<std::string> labels = {};
  std::string positive = {};
  std::string separator = ",";
  bool may_lack_answers = false;
  std::vector<std::string> metrics = {};
  bool chunks = true;
  TableFormat format = TableFormat::automatic;
  bool header = true;
  bool skip_incomplete = false;
  std::string train = "train.tsv";
  std::vector<std::string> valid = {"dev.tsv"};
  std::string test = "test.tsv";
  std::vector<std::string> test_text = {};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("kind", self.kind, {.help = "what is to be said of a text"});
    visit("text", self.text,
          {.help =
               "the one or two columns to read, by name, or by number from 1 where there is no header; a|b: the first "
               "that there is"});
    visit(
        "label", self.label,
        {.help = "the column of the label or number; tags: its number from 1, and the last one where it is \"label\""});
    visit("labels", self.labels, {.help = "names of the labels; none: those of the training text, sorted"});
    visit("positive", self.positive,
          {.help = "classification: the label whose F1 is reported; empty: the mean over all labels"});
    visit("separator", self.separator, {.help = "multi-label: what stands between the labels of a text"});
    visit("may-lack-answers", self.may_lack_answers,
          {.help = "spans: a question may have no answer in its context; what is learnt from says it"});
    visit("chunks", self.chunks,
          {.help = "tags: they mark chunks, as B-PER I-PER O do (IOB1, IOB2, IOBES); false: each stands for itself"});
    visit(
        "metrics", self.metrics,
        {.help =
             "whose mean makes a checkpoint the best; none: accuracy, for regression pearson and spearman, for several "
             "labels, spans and chunks f1"});
    visit("format", self.format, {.help = "of the files; auto: by the end of their names"});
    visit("header", self.header, {.help = "the first line names the columns"});
    visit("skip-incomplete", self.skip_incomplete,
          {.help = "rows that lack a value are left out and counted, but for those of the test file"});
    visit("train", self.train, {.help = "file to learn from, in the folder --data"});
    visit("valid", self.valid, {.help = "files to validate on; the first one chooses the best checkpoint"});
    visit("test", self.test, {.help = "file without labels to predict"});
    visit("test-text", self.test_text, {.help = "columns of the test file, which has a header; none: as text"});
  }

  // UserError, naming `source`, for keys that contradict each other.
  void validate(const std::string& source) const;
};

// What an answer to such a task is scored by, as eval/task_scores.hpp finds it.
std::vector<std::string_view> metrics_of(const LabelledTask& task);

// A built-in task by name (in any case), or the TOML file of that path. UserError naming the nearest name.
LabelledTask find_task(const std::string& name_or_file);
std::vector<std::string> built_in_tasks();

}  // namespace attend
