// Lines of text as records of a task. A line without text is no record: no encoder is asked about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/task/record_format.hpp"

namespace attend {

class LineRecords {
 public:
  LineRecords(const LabelledTask& task, const Tokenizer& tokenizer, const SampleConfig& config)
      : task_(task), format_(format_of(task.kind)), maker_(tokenizer, config) {}

  // UserError naming `place` for a line with another number of texts than the task's.
  void add(const std::string& line, const std::string& place);
  // To be called after the last line.
  void finish() { format_.finish_lines(split_, task_, maker_); }

  const TaskSplit& split() const { return split_; }
  std::int64_t num_cut() const { return maker_.num_cut(); }
  // The record of every line, or nothing.
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
