// Description of a fine-tuning task: its files, the columns of texts and labels, and the metrics of its answers. A task
// is a built-in name (the files of GLUE, SQuAD and CoNLL-2003 and the sets of `attend toy`) or a TOML file with these
// keys.
#pragma once

#include <array>
#include <concepts>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/text/conll.hpp"
#include "data/text/table.hpp"

namespace attend {

enum class TaskKind { classification, multi_label, regression, spans, tags };
template <>
inline constexpr auto kEnumNames<TaskKind> = std::to_array<EnumName<TaskKind>>({
    {TaskKind::classification, "classification"},
    {TaskKind::multi_label, "multi-label"},
    {TaskKind::regression, "regression"},
    {TaskKind::spans, "spans"},
    {TaskKind::tags, "tags"},
});

// True for tasks on whole texts or pairs of texts.
constexpr bool is_of_sequences(TaskKind kind) { return kind != TaskKind::spans && kind != TaskKind::tags; }

// Conditions of keys and options that only some kinds of tasks read, and the fact that they test.
inline constexpr Fact kTasksOfKind{"tasks of kind"};
constexpr Condition tasks_of(std::same_as<TaskKind> auto... kinds) { return {kTasksOfKind, {name_of(kinds)...}}; }
inline constexpr Condition kOfSpans = tasks_of(TaskKind::spans), kOfTags = tasks_of(TaskKind::tags);
inline constexpr Condition kOfSequences =
    tasks_of(TaskKind::classification, TaskKind::multi_label, TaskKind::regression);
inline constexpr Condition kOfLabels = tasks_of(TaskKind::classification, TaskKind::multi_label, TaskKind::tags);
inline Facts facts_of(TaskKind kind) { return {{kTasksOfKind, {std::string(name_of(kind))}}}; }

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
    visit("kind", self.kind, {.help = "kind of task"});
    visit("text", self.text,
          {.help = "one or two text columns, by name, or by number from 1 without a header; a|b: the first that exists",
           .only = kOfSequences});
    visit("label", self.label,
          {.help = "column of the label or number; tags: its number from 1, or \"label\" for the last one",
           .only = tasks_of(TaskKind::classification, TaskKind::multi_label, TaskKind::regression, TaskKind::tags)});
    visit("labels", self.labels,
          {.help = "names of the labels; none: those in the training file, sorted", .only = kOfLabels});
    visit("positive", self.positive,
          {.help = "the label whose F1 is reported; empty: macro average over all labels",
           .only = tasks_of(TaskKind::classification)});
    visit("separator", self.separator,
          {.help = "separator of the labels of a text", .only = tasks_of(TaskKind::multi_label)});
    visit("may-lack-answers", self.may_lack_answers,
          {.help = "a question may be unanswerable; set from the training file", .only = kOfSpans});
    visit("chunks", self.chunks,
          {.help = "the tags mark chunks, such as B-PER I-PER O (IOB1, IOB2, IOBES); false: independent tags",
           .only = kOfTags});
    visit("metrics", self.metrics,
          {.help = "metrics whose mean selects the best checkpoint; none: accuracy; for regression, pearson and "
                   "spearman; for multi-label, spans and chunks, f1"});
    visit("format", self.format, {.help = "format of the files; auto: from their extensions", .only = kOfSequences});
    visit("header", self.header, {.help = "the first line names the columns", .only = kOfSequences});
    visit("skip-incomplete", self.skip_incomplete,
          {.help = "skip and count rows with a missing value, except in the test file", .only = kOfSequences});
    visit("train", self.train, {.help = "training file, in the folder --data"});
    visit("valid", self.valid, {.help = "validation files; the first one selects the best checkpoint"});
    visit("test", self.test, {.help = "file without labels to predict"});
    visit("test-text", self.test_text,
          {.help = "columns of the test file, if named differently; none: as text", .only = kOfSequences});
  }

  // Throws UserError naming `source` if keys contradict each other.
  void validate(const std::string& source) const;
};

// The column and kind of the tags of a tagging task.
TagColumn tag_column(const LabelledTask& task);

// A built-in task by name (case, - and _ do not count), or the TOML file at that path. Throws UserError, suggesting the
// nearest name, if there is neither, and as validate() does.
LabelledTask find_task(const std::string& name_or_file);
std::vector<std::string> built_in_tasks();

// FOLDER/name; "a|b" is the first that exists. If none exists: nullopt if the last alternative is empty, else a
// UserError naming all of them.
std::optional<std::filesystem::path> find_file(const std::filesystem::path& folder, const std::string& name);

}  // namespace attend
