// Reads and writes protocol buffers field by field, without a library, and never past the end of the given bytes.
//
//   for (protobuf::Message message(bytes); const auto field = message.next();) {
//     if (field->number == 1) name = field->content();
//   }
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"

// Thrown UserErrors do not name the file.
namespace attend::protobuf {

static_assert(std::endian::native == std::endian::little, "protocol buffers are little-endian");

// One field of a protocol-buffer message.
struct Field {
  std::uint32_t number = 0;
  std::uint32_t wire = 0;       // 0 varint, 1 eight bytes, 2 a length and bytes, 5 four bytes
  std::uint64_t value = 0;      // of wire 0, 1 and 5
  std::string_view bytes = {};  // of wire 2

  std::uint64_t varint() const { return expect(0), value; }
  std::string_view content() const { return expect(2), bytes; }
  float number32() const { return expect(5), std::bit_cast<float>(static_cast<std::uint32_t>(value)); }

 private:
  void expect(std::uint32_t type) const {
    if (wire != type) throw UserError("field " + std::to_string(number) + " has the wrong type");
  }
};

// Iterates over the fields of a message.
class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}

  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    const std::uint64_t tag = varint();
    Field field;
    field.number = static_cast<std::uint32_t>(tag >> 3);
    field.wire = static_cast<std::uint32_t>(tag & 7);
    if (tag > 0xFFFFFFFFu || field.number == 0) throw UserError("a field has an invalid number");
    if (field.wire == 0) {
      field.value = varint();
    } else if (field.wire == 2) {
      field.bytes = take(varint());
    } else if (field.wire == 1 || field.wire == 5) {
      field.value = fixed(field.wire == 1 ? 8 : 4);
    } else {
      throw UserError("a field has an unknown type");
    }
    return field;
  }

 private:
  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) throw UserError("truncated, or a length points past its end");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1).front());
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    throw UserError("a number of more than ten bytes");
  }

  std::uint64_t fixed(std::size_t count) {
    std::uint64_t value = 0;
    std::memcpy(&value, take(count).data(), count);
    return value;
  }

  std::string_view rest_;
};

inline void append_varint(std::string& message, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) message += static_cast<char>((value & 0x7F) | 0x80);
  message += static_cast<char>(value);
}

inline void append(std::string& message, const Field& field) {
  append_varint(message, std::uint64_t{field.number} << 3 | field.wire);
  if (field.wire == 0) {
    append_varint(message, field.value);
  } else if (field.wire == 2) {
    append_varint(message, field.bytes.size());
    message += field.bytes;
  } else {
    message.append(reinterpret_cast<const char*>(&field.value), field.wire == 1 ? 8 : 4);
  }
}

}  // namespace attend::protobuf
