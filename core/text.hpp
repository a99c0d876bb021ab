// Text: UTF-8, and numbers.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attend {

// UTF-8 as defined by Unicode's table 3-7: shortest forms only, no surrogates, nothing above U+10FFFF.

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// The number of bytes of the character that starts at text[at], 1 to 4; 0 if none does.
inline std::size_t utf8_length_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return at < text.size() ? 1 : 0;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return continues(1) ? 2 : 0;
  if (first < 0xF0) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;
    return byte(1) >= low && byte(1) <= high && continues(2) ? 3 : 0;
  }
  if (first < 0xF5) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
    return byte(1) >= low && byte(1) <= high && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

// The character at `at`, empty at the end; a byte that is not UTF-8 is a character of its own.
inline std::string_view character_at(std::string_view text, std::size_t at) {
  return at < text.size() ? text.substr(at, std::max<std::size_t>(utf8_length_at(text, at), 1)) : std::string_view();
}

// The code point of one character with a length from utf8_length_at.
inline std::int32_t code_point_of(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<std::int32_t>(static_cast<unsigned char>(character[i])); };
  if (character.size() == 1) return byte(0);
  std::int32_t code_point = byte(0) & (0x7F >> character.size());
  for (std::size_t i = 1; i < character.size(); ++i) code_point = code_point << 6 | (byte(i) & 0x3F);
  return code_point;
}

inline void append_utf8(std::string& text, std::int32_t code_point) {
  const auto add = [&](std::int32_t byte) { text += static_cast<char>(byte); };
  if (code_point < 0x80) return add(code_point);
  if (code_point < 0x800) {
    add(0xC0 | code_point >> 6);
  } else {
    if (code_point < 0x10000) {
      add(0xE0 | code_point >> 12);
    } else {
      add(0xF0 | code_point >> 18);
      add(0x80 | (code_point >> 12 & 0x3F));
    }
    add(0x80 | (code_point >> 6 & 0x3F));
  }
  add(0x80 | (code_point & 0x3F));
}

inline bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length_at(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

// Bytes as text: base64 (RFC 4648, section 4).
std::string base64(std::string_view bytes);

// Numbers in text.

// Parses all of `text` as a number, in the C locale, with or without a sign; nullopt if it is not a number, does not
// fit the type or is not finite.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if constexpr (std::floating_point<Number>) {
    if (!std::isfinite(value)) return std::nullopt;
  }
  return value;
}

// A number for people: "1,234.5"; with decimals from 10^7 on "1.23e+07"; "–" where it is not finite.
std::string fixed(double value, int decimals);
std::string fixed(std::int64_t count);
// The same with at most three digits and a unit: 1,234,000 is "1.23 M".
std::string compact(double value);

// The same with four digits and no exponent: "0.9062", "32.15", "12,346"; 0.00009 is "0.0001".
std::string four_digits(double value);

// 1 and "line" as "1 line", 3000 and "line" as "3,000 lines", 3 and "batch" as "3 batches".
std::string counted(std::int64_t count, std::string_view noun);

}  // namespace attend
