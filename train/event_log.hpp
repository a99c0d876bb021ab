// The machine-readable log of a run: RUN/train.jsonl, one JSON object per event, and the same numbers as TensorBoard
// scalars.
//
//   {"event": "train", "step": 50, "time": "2026-11-21T06:30:00Z", "objective": 5.9, "loss": 5.1, ...}
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "train/tensorboard.hpp"

namespace attend {

class EventLog {
 public:
  // Continues the log of a run that resumes from the checkpoint of update `saved` (-1: none); later events are removed,
  // since they will be repeated. Throws UserError if the log cannot be written, as does write().
  EventLog(const std::filesystem::path& run, std::int64_t saved);

  // Logs an event with its numbers; TensorBoard shows each as EVENT/NAME.
  void write(std::string_view event, std::int64_t step, const std::vector<std::pair<std::string_view, double>>& values);

 private:
  std::filesystem::path path_;
  std::ofstream lines_;
  TensorBoardWriter tensorboard_;
};

}  // namespace attend
