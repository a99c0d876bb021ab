// What the kinds of tasks differ in before a model reads them: the keys of a task, its labels, how its records stand in
// files and lines, and what is made of them. A class a kind; record_format.cpp alone chooses one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/task/labelled_task.hpp"
#include "data/task/samples.hpp"
#include "data/task/task_split.hpp"

namespace attend {

class RecordFormat {
 public:
  virtual ~RecordFormat() = default;

  // Keys of a task, and options of commands, that mean nothing for this kind.
  virtual std::vector<std::string_view> foreign_keys() const = 0;
  virtual std::vector<std::string_view> foreign_options() const = 0;

  // UserError, naming `source`, for keys that contradict each other.
  virtual void validate(const LabelledTask& task, const std::string& source) const = 0;

  // What answers are scored by, as eval/answers finds it; and the mean of which of these chooses the best checkpoint
  // where the task does not say.
  virtual std::vector<std::string_view> metrics(const LabelledTask& task) const = 0;
  virtual std::vector<std::string_view> default_metrics(const LabelledTask& task) const = 0;

  // What a record is labelled with, in messages.
  virtual std::string_view label_name() const { return "label"; }

  // The labels that occur in a file; none where there is nothing to choose from.
  virtual std::vector<std::string> labels_in(const std::string& file, const LabelledTask& task) const = 0;

  virtual std::int64_t default_length() const { return 128; }
  // Tokens beyond which something of a record is cut.
  virtual std::int64_t longest(const SampleConfig& config) const { return config.length.value(); }

  // The records of split.file, and their samples.
  virtual void read_file(TaskSplit& split, const LabelledTask& task, Labelled labelled, SampleMaker& maker) const = 0;

  // A record without labels, of a line: `place` names it, `document` counts the groups of lines between blank ones.
  // UserError for another number of texts than the task's.
  struct Line {
    const std::string& text;
    const std::string& place;
    std::int64_t document;
  };
  virtual void add_line(TaskSplit& split, const LabelledTask& task, const Line& line, SampleMaker& maker) const = 0;
  // To be called after the last line.
  virtual void finish_lines(TaskSplit& /*split*/, const LabelledTask& /*task*/, SampleMaker& /*maker*/) const {}

  // Removes samples that show no answer to learn.
  virtual void keep_learnable(TaskSplit& /*split*/) const {}
  // Whether all samples have the same label, so that nothing can be told apart.
  virtual bool all_alike(const TaskSplit& split) const = 0;
};

const RecordFormat& format_of(TaskKind kind);

// One or two texts and what is known of them, in the columns of a table.
class TextFormat : public RecordFormat {
 public:
  std::vector<std::string_view> foreign_keys() const override;
  std::vector<std::string_view> foreign_options() const override;
  void validate(const LabelledTask& task, const std::string& source) const override;
  std::vector<std::string> labels_in(const std::string& file, const LabelledTask& task) const override;
  void read_file(TaskSplit& split, const LabelledTask& task, Labelled labelled, SampleMaker& maker) const override;
  void add_line(TaskSplit& split, const LabelledTask& task, const Line& line, SampleMaker& maker) const override;
  bool all_alike(const TaskSplit& split) const override;

 protected:
  // What may stand between the labels of a text; empty: it has one.
  virtual std::string separator(const LabelledTask& /*task*/) const { return {}; }
  // The label or labels that a value holds, without the spaces around them.
  virtual std::vector<std::string> split_labels(const std::string& value, const LabelledTask& task) const;
  virtual std::size_t fewest_labels() const { return 2; }
  // UserError naming `place` for a value that is no label.
  virtual Gold gold_of(const std::string& value, const LabelledTask& task, const std::string& place) const = 0;
  // UserError where a whole file turns out to have its labels hidden.
  virtual void refuse_hidden(const TaskSplit& /*split*/) const {}
};

// The kinds, each in a file of its name.
std::unique_ptr<RecordFormat> classification_format();
std::unique_ptr<RecordFormat> multi_label_format();
std::unique_ptr<RecordFormat> regression_format();
std::unique_ptr<RecordFormat> span_format();
std::unique_ptr<RecordFormat> tag_format();

// The number of a label of the task. UserError naming `place`.
std::size_t number_of_label(const std::string& label, const LabelledTask& task, const std::string& place);

}  // namespace attend
