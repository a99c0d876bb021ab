// The differences between kinds of tasks before a model sees their text: labels, the format of records in files and
// lines, and samples. One class per kind; only record_format.cpp chooses one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "data/task/labelled_task.hpp"
#include "data/task/samples.hpp"
#include "data/text/lines.hpp"

namespace attend {

class RecordFormat {
 public:
  virtual ~RecordFormat() = default;

  // Throws UserError naming `source` if keys contradict each other.
  virtual void validate(const LabelledTask& /*task*/, const std::string& /*source*/) const {}

  // The metrics of this kind, as computed by eval/answers, and the metrics whose mean selects the best checkpoint if
  // the task does not name any.
  virtual std::vector<std::string_view> metrics(const LabelledTask& task) const = 0;
  virtual std::vector<std::string_view> default_metrics(const LabelledTask& task) const {
    return {metrics(task).front()};
  }

  // The name of a label in messages.
  virtual std::string_view label_name() const { return "label"; }

  // The labels that occur in a file; empty if the kind has no label set.
  virtual std::vector<std::string> labels_in(const std::string& /*file*/, const LabelledTask& /*task*/) const {
    return {};
  }

  // The gold label in the column of a text; only of tasks on whole texts. Throws UserError naming `place` if the value
  // is none.
  virtual Gold gold_of(const std::string& /*value*/, const LabelledTask& /*task*/, const std::string& /*place*/) const {
    ensure(false, "the task is on whole texts");
    return {};
  }

  virtual std::int64_t default_length() const { return 128; }
  // The number of tokens above which a part of a record is cut.
  virtual std::int64_t longest(const SampleConfig& config) const { return config.length.value(); }

  // Reads the records of split.file.
  virtual void read_texts(TaskSplit& split, const LabelledTask& task, Labelled labelled) const = 0;

  // Adds an unlabelled record from a line: `place` names it, `document` counts the groups of lines between blank ones.
  // Throws UserError if the line has another number of texts than the task.
  struct Line {
    const std::string& text;
    const std::string& place;
    std::int64_t document;
  };
  virtual void add_line(TaskSplit& split, const LabelledTask& task, const Line& line) const = 0;
  // Makes the samples of all records.
  virtual void make_samples(TaskSplit& split, const LabelledTask& task, SampleMaker& maker) const = 0;

  // Removes samples without an answer to learn.
  virtual void keep_learnable(TaskSplit& /*split*/) const {}
  // True if all samples have the same label, so that there is nothing to learn.
  virtual bool all_alike(const TaskSplit& /*split*/) const { return false; }
};

const RecordFormat& format_of(TaskKind kind);

// The one or two texts of a line. Throws UserError naming `place` if the task reads another number of texts.
LabelledText text_of_line(const std::string& line, const std::string& place, const LabelledTask& task);

// The index of a label of the task. Throws UserError naming `place` if there is none.
std::size_t number_of_label(const std::string& label, const LabelledTask& task, const std::string& place);

// Lines of text as records of a task. A blank line is not a record, so no encoder sees it.
class LineRecords {
 public:
  // `task` must outlive the object.
  LineRecords(const LabelledTask& task, const Tokenizer& tokenizer, const SampleConfig& config)
      : task_(task), format_(format_of(task.kind)), maker_(tokenizer, config) {}

  // Throws UserError naming `place` if the line has another number of texts than the task.
  void add(const std::string& line, const std::string& place) {
    if (is_blank(line)) {
      records_.emplace_back();
      ++document_;
      return;
    }
    records_.emplace_back(split_.size());
    format_.add_line(split_, task_, {.text = line, .place = place, .document = document_});
  }
  // Makes the samples. Must be called after the last line.
  void finish() { format_.make_samples(split_, task_, maker_); }

  const TaskSplit& split() const { return split_; }
  std::int64_t num_cut() const { return maker_.num_cut(); }
  // The record of every line; nullopt for blank lines.
  const std::vector<std::optional<std::int64_t>>& records() const { return records_; }

 private:
  const LabelledTask& task_;
  const RecordFormat& format_;
  SampleMaker maker_;
  TaskSplit split_ = {};
  std::vector<std::optional<std::int64_t>> records_ = {};
  std::int64_t document_ = 0;
};

}  // namespace attend
