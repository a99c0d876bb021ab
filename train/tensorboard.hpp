// TensorBoard event files, written without TensorBoard: records of length, masked CRC-32C of the length, a protobuf
// message Event, masked CRC-32C of the message (tensorflow/core/lib/io/record_writer.h, core/util/event.proto). Scalars
// only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace attend {

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

}  // namespace attend
