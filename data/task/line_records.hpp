// Lines of text as records of a task. A blank line is not a record, so no encoder sees it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/task/record_format.hpp"
#include "data/text/lines.hpp"

namespace attend {

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
    format_.add_line(split_, task_, {.text = line, .place = place, .document = document_}, maker_);
  }
  // Must be called after the last line.
  void finish() { format_.finish_lines(split_, task_, maker_); }

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
