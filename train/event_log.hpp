// The log of a run, as JSON lines and for TensorBoard.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attend {

// TensorBoard event files, written without TensorBoard: records of length, masked CRC-32C of the length, a protobuf
// message Event, masked CRC-32C of the message (tensorflow/core/lib/io/record_writer.h, core/util/event.proto). Scalars
// only.

// CRC-32C (Castagnoli), as in RFC 3720.
std::uint32_t crc32c(std::string_view bytes);

class TensorBoardWriter {
 public:
  // Opens a new file in `directory`; TensorBoard then drops the events of earlier files from `step` on. Throws
  // UserError if it cannot be opened.
  TensorBoardWriter(const std::filesystem::path& directory, std::int64_t step);

  void scalar(std::string_view tag, std::int64_t step, double value);
  void flush() { file_.flush(); }

 private:
  void record(const std::string& event);
  std::ofstream file_;
};

// The machine-readable log of a run: RUN/train.jsonl, one JSON object per event, and the same numbers as TensorBoard
// scalars.
//
//   {"event": "train", "step": 50, "time": "2026-11-21T06:30:00Z", "objective": 5.9, "loss": 5.1, ...}
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
