#include "train/tensorboard.hpp"

#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>

#include "core/error.hpp"
#include "core/host.hpp"

namespace attend {
namespace {

static_assert(std::endian::native == std::endian::little, "records are written in memory order");

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Protobuf's wire format, for the three field types of an Event.
enum class Wire : unsigned { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void append_tag(std::string& out, unsigned field, Wire wire) {
  append_varint(out, field << 3 | static_cast<unsigned>(wire));
}

void append_bytes(std::string& out, unsigned field, std::string_view value) {
  append_tag(out, field, Wire::bytes);
  append_varint(out, value.size());
  out.append(value);
}

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

// Event.wall_time = 1, Event.step = 2; the caller adds the content.
std::string event(std::int64_t step) {
  std::string out;
  append_tag(out, 1, Wire::fixed64);
  append(out, now());
  append_tag(out, 2, Wire::varint);
  append_varint(out, static_cast<std::uint64_t>(step));
  return out;
}

// A CRC over data that contains CRCs is weak; TensorFlow stores a rotated and shifted one.
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
  append_bytes(version, 3, "brain.Event:2");  // Event.file_version
  record(version);
  std::string start = event(step);
  append_bytes(start, 7, std::string("\x08\x01"));  // Event.session_log { status = START }
  record(start);
}

void TensorBoardWriter::scalar(std::string_view tag, std::int64_t step, double value) {
  std::string item;  // Summary.Value { tag = 1, simple_value = 2 }
  append_bytes(item, 1, tag);
  append_tag(item, 2, Wire::fixed32);
  append(item, static_cast<float>(value));
  std::string summary;
  append_bytes(summary, 1, item);
  std::string out = event(step);
  append_bytes(out, 5, summary);
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

}  // namespace attend
