#include "eval/metrics/text.hpp"

#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <stdexcept>

#include "core/utf8.hpp"

namespace attend::metrics {
namespace {

// The number of bytes of the white-space character at `at`, or 0. The set is that of Python's str.isspace, which
// includes U+001C to U+001F but not U+200B. In valid UTF-8 a lead byte never occurs inside a character, so `at` may be
// any byte.
std::size_t white_space_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t offset) {
    return at + offset < text.size() ? static_cast<unsigned char>(text[at + offset]) : 0u;
  };
  const unsigned first = byte(0);
  if (first <= 0x20) return (first >= 0x09 && first <= 0x0d) || (first >= 0x1c) ? 1 : 0;
  if (first < 0xc2) return 0;
  if (first == 0xc2) return byte(1) == 0x85 || byte(1) == 0xa0 ? 2 : 0;
  switch (first << 16 | byte(1) << 8 | byte(2)) {
    case 0xe19a80:  // U+1680
    case 0xe280a8:  // U+2028
    case 0xe280a9:  // U+2029
    case 0xe280af:  // U+202F
    case 0xe2819f:  // U+205F
    case 0xe38080:  // U+3000
      return 3;
    default: return first == 0xe2 && byte(1) == 0x80 && byte(2) >= 0x80 && byte(2) <= 0x8a ? 3 : 0;  // U+2000 to U+200A
  }
}

}  // namespace

std::string_view trim_right(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = white_space_at(text, at);
    at += std::max<std::size_t>(space, 1);
    if (space == 0) end = at;
  }
  return text.substr(0, end);
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t start = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = white_space_at(text, at);
    if (space == 0) {
      ++at;
      continue;
    }
    if (at > start) words.push_back(text.substr(start, at - start));
    start = at += space;
  }
  if (start < text.size()) words.push_back(text.substr(start));
  return words;
}

bool has_word_character(std::string_view text) {
  const auto is_in_words = [](UChar32 c) { return u_isalnum(c) || (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0; };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length_at(text, at);
    if (length > 0 && is_in_words(code_point_of(text.substr(at, length)))) return true;
    at += std::max<std::size_t>(length, 1);
  }
  return false;
}

std::vector<std::uint32_t> visible_characters(std::string_view text) {
  std::vector<std::uint32_t> characters;
  characters.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t space = white_space_at(text, at); space != 0) {
      at += space;
      continue;
    }
    const std::size_t end = at + std::max<std::size_t>(utf8_length_at(text, at), 1);
    std::uint32_t packed = 0;
    for (; at < end; ++at) packed = packed << 8 | static_cast<unsigned char>(text[at]);
    characters.push_back(packed);
  }
  return characters;
}

std::string lower_case(std::string_view text) {
  std::string lower;
  if (std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) {
    lower = text;
    for (char& c : lower) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return lower;
  }
  UErrorCode status = U_ZERO_ERROR;
  icu::StringByteSink<std::string> sink(&lower, static_cast<int32_t>(text.size()));
  icu::CaseMap::utf8ToLower("", 0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())), sink, nullptr,
                            status);
  if (U_FAILURE(status)) throw std::runtime_error(std::string("ICU failed to lower-case: ") + u_errorName(status));
  return lower;
}

}  // namespace attend::metrics
