#include "train/event_log.hpp"

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <array>
#include <bit>
#include <chrono>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/process.hpp"
#include "core/protobuf.hpp"

namespace attend {
namespace {

static_assert(std::endian::native == std::endian::little, "records are written in memory order");

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

// An Event with wall_time = 1 and step = 2.
std::string event(std::int64_t step) {
  std::string out;
  protobuf::append(out, {.number = 1, .wire = 1, .value = std::bit_cast<std::uint64_t>(now())});
  protobuf::append(out, {.number = 2, .value = static_cast<std::uint64_t>(step)});
  return out;
}

// TensorFlow rotates each CRC and adds a constant, since a CRC over data that contains CRCs is weak.
std::uint32_t masked_crc(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8U; }

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr auto table = [] {
    std::array<std::uint32_t, 256> result{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t x = i;
      for (int bit = 0; bit < 8; ++bit) x = (x & 1) != 0 ? x >> 1 ^ 0x82f63b78U : x >> 1;
      result[i] = x;
    }
    return result;
  }();
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

TensorBoardWriter::TensorBoardWriter(const std::filesystem::path& directory, std::int64_t step) {
  const auto name = "events.out.tfevents." + std::to_string(static_cast<std::int64_t>(now())) + "." + host_name() +
                    "." + std::to_string(getpid());
  file_.open(directory / name, std::ios::binary | std::ios::app);
  if (!file_) throw UserError((directory / name).string() + ": cannot be written", "check the directory's permissions");
  std::string version = event(0);
  protobuf::append(version, {.number = 3, .wire = 2, .bytes = "brain.Event:2"});  // Event.file_version
  record(version);
  std::string start = event(step);
  protobuf::append(start, {.number = 7, .wire = 2, .bytes = "\x08\x01"});  // Event.session_log { status = START }
  record(start);
}

void TensorBoardWriter::scalar(std::string_view tag, std::int64_t step, double value) {
  std::string item;  // Summary.Value { tag = 1, simple_value = 2 }
  protobuf::append(item, {.number = 1, .wire = 2, .bytes = tag});
  protobuf::append(item, {.number = 2, .wire = 5, .value = std::bit_cast<std::uint32_t>(static_cast<float>(value))});
  std::string summary;
  protobuf::append(summary, {.number = 1, .wire = 2, .bytes = item});
  std::string out = event(step);
  protobuf::append(out, {.number = 5, .wire = 2, .bytes = summary});
  record(out);
}

void TensorBoardWriter::record(const std::string& message) {
  std::string length;
  append(length, static_cast<std::uint64_t>(message.size()));
  std::string out = length;
  append(out, masked_crc(length));
  out += message;
  append(out, masked_crc(message));
  file_.write(out.data(), static_cast<std::streamsize>(out.size()));
}

namespace {

// The lines of `text` up to the save event of the checkpoint of update `saved`. If a process was killed between writing
// a checkpoint and logging it, `logged` is false and the lines end before the first later update.
struct Kept {
  std::string lines;
  bool logged = false;
};
Kept lines_until(std::string_view text, std::int64_t saved) {
  std::size_t kept = 0;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != text.npos; at = end + 1) {
    const auto line = nlohmann::json::parse(text.substr(at, end - at), nullptr, /*allow_exceptions=*/false);
    const auto step = line.is_object() ? line.value("step", nlohmann::json()) : nlohmann::json();
    if (!step.is_number_integer() || step > saved) break;
    kept = end + 1;
    if (step == saved && line.value("event", nlohmann::json()) == "save") {
      return {.lines = std::string(text.substr(0, kept)), .logged = true};
    }
  }
  return {.lines = std::string(text.substr(0, kept))};
}

}  // namespace

EventLog::EventLog(const std::filesystem::path& run, std::int64_t saved)
    : path_(run / "train.jsonl"), tensorboard_(run, saved + 1) {
  bool logged = saved < 0;
  if (std::filesystem::exists(path_)) {
    const std::string before = read_file(path_);
    const Kept kept = lines_until(before, saved);
    if (kept.lines.size() < before.size()) write_file_atomic(path_, kept.lines);
    logged = logged || kept.logged;
  }
  lines_.open(path_, std::ios::binary | std::ios::app);
  if (!lines_) throw UserError(path_.string() + ": cannot be written", "check the directory's permissions");
  if (!logged) write("save", saved, {});
}

void EventLog::write(std::string_view event, std::int64_t step,
                     const std::vector<std::pair<std::string_view, double>>& values) {
  nlohmann::ordered_json line = {{"event", event}, {"step", step}, {"time", now_utc()}};
  for (const auto& [name, value] : values) {
    line[std::string(name)] = value;
    tensorboard_.scalar(std::string(event) + "/" + std::string(name), step, value);
  }
  lines_ << line.dump() << '\n' << std::flush;
  tensorboard_.flush();
  if (!lines_) throw UserError(path_.string() + ": cannot be written", "check that the disk is not full");
}

}  // namespace attend
