// Description of a fine-tuning task: its files, the columns of texts and labels, and the metrics of its answers. A task
// is a built-in name (the files of GLUE, SQuAD and CoNLL-2003 and the sets of `attend toy`) or a TOML file with these
// keys.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options.hpp"
#include "data/text/conll.hpp"
#include "data/text/labelled.hpp"
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

// True if a text or pair gets a single answer rather than one per token.
constexpr bool is_of_sequences(TaskKind kind) { return kind != TaskKind::spans && kind != TaskKind::tags; }

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
    visit(
        "text", self.text,
        {.help = "one or two text columns, by name, or by number from 1 without a header; a|b: the first that exists"});
    visit("label", self.label,
          {.help = "column of the label or number; tags: its number from 1, or \"label\" for the last one"});
    visit("labels", self.labels, {.help = "names of the labels; none: those in the training file, sorted"});
    visit("positive", self.positive,
          {.help = "classification: the label whose F1 is reported; empty: macro average over all labels"});
    visit("separator", self.separator, {.help = "multi-label: separator of the labels of a text"});
    visit("may-lack-answers", self.may_lack_answers,
          {.help = "spans: a question may be unanswerable; set from the training file"});
    visit("chunks", self.chunks,
          {.help = "tags: the tags mark chunks, such as B-PER I-PER O (IOB1, IOB2, IOBES); false: independent tags"});
    visit("metrics", self.metrics,
          {.help = "metrics whose mean selects the best checkpoint; none: accuracy; for regression, pearson and "
                   "spearman; for multi-label, spans and chunks, f1"});
    visit("format", self.format, {.help = "format of the files; auto: from their extensions"});
    visit("header", self.header, {.help = "the first line names the columns"});
    visit("skip-incomplete", self.skip_incomplete,
          {.help = "skip and count rows with a missing value, except in the test file"});
    visit("train", self.train, {.help = "training file, in the folder --data"});
    visit("valid", self.valid, {.help = "validation files; the first one selects the best checkpoint"});
    visit("test", self.test, {.help = "file without labels to predict"});
    visit("test-text", self.test_text, {.help = "columns of the test file, if named differently; none: as text"});
  }

  // The keys that do not apply to this kind of task.
  std::vector<std::string_view> foreign_keys() const;

  // Throws UserError naming `source` if keys contradict each other.
  void validate(const std::string& source) const;
};

// The column and kind of the tags of a tagging task.
TagColumn tag_column(const LabelledTask& task);

// A built-in task by name (case-insensitive), or the TOML file at that path. The UserError suggests the nearest name.
LabelledTask find_task(const std::string& name_or_file);
std::vector<std::string> built_in_tasks();

// FOLDER/name; "a|b" is the first that exists. If none exists: nullopt if the last alternative is empty, else a
// UserError naming all of them.
std::optional<std::filesystem::path> find_file(const std::filesystem::path& folder, const std::string& name);

}  // namespace attend
