#include "analysis/report/characters.hpp"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <cstdint>
#include <utility>

#include "core/text.hpp"

namespace attend {
namespace {

bool is_control(UChar32 character) {
  constexpr std::uint32_t kControls = U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CS_MASK | U_GC_ZL_MASK | U_GC_ZP_MASK;
  constexpr UChar32 kJoiner = 0x200D;  // between the parts of an emoji, and in Indic words
  return character != kJoiner && ((U_GET_GC_MASK(character) & kControls) != 0 || U_IS_UNICODE_NONCHAR(character));
}

// True for a character that is drawn over the previous one.
bool is_mark(UChar32 character) {
  return (U_GET_GC_MASK(character) & (U_GC_MN_MASK | U_GC_ME_MASK | U_GC_CF_MASK)) != 0;
}

std::size_t width_of(UChar32 character) {
  const auto width = static_cast<UEastAsianWidth>(u_getIntPropertyValue(character, UCHAR_EAST_ASIAN_WIDTH));
  return width == U_EA_WIDE || width == U_EA_FULLWIDTH ? 2 : 1;
}

}  // namespace

std::vector<Character> characters_of(std::string_view text) {
  std::vector<Character> characters;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const auto length = static_cast<std::int32_t>(text.size());
  for (std::int32_t at = 0; at < length;) {
    const std::int32_t begin = at;
    UChar32 character = 0;
    U8_NEXT(bytes, at, length, character);
    if (character < 0 || is_control(character)) {
      characters.push_back({std::string(kReplacementCharacter), 1});
      continue;
    }
    const std::string_view own = text.substr(begin, at - begin);
    if (is_mark(character) && !characters.empty()) {
      characters.back().text += own;
    } else {
      characters.push_back({std::string(own), width_of(character)});
    }
  }
  return characters;
}

std::size_t width_of(const std::vector<Character>& text) {
  std::size_t width = 0;
  for (const Character& character : text) width += character.width;
  return width;
}

std::vector<Character> abbreviated(std::vector<Character> text, std::size_t most) {
  if (width_of(text) <= most) return text;
  std::vector<Character> result;
  std::size_t width = 1;  // of the mark
  for (Character& character : text) {
    width += character.width;
    if (width > most) break;
    result.push_back(std::move(character));
  }
  result.push_back({"\u2026", 1});
  return result;
}

std::string join(const std::vector<Character>& text) {
  std::string joined;
  for (const Character& character : text) joined += character.text;
  return joined;
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: {
        const bool is_control = static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n';
        out += is_control || c == 0x7F ? kReplacementCharacter : std::string_view(&c, 1);
      }
    }
  }
  return out;
}

}  // namespace attend
