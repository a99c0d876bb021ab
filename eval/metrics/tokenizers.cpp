#include "eval/metrics/tokenizers.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <span>
#include <stdexcept>

#include "core/text.hpp"

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

// `text` without trailing white space.
std::string_view trim_right(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = white_space_at(text, at);
    at += std::max<std::size_t>(space, 1);
    if (space == 0) end = at;
  }
  return text.substr(0, end);
}

}  // namespace

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

namespace {

using CodePoint = std::int32_t;

struct Range {
  CodePoint first = 0, last = 0;
};

bool is_in(std::span<const Range> ranges, CodePoint c) {
  return std::ranges::any_of(ranges, [&](const Range& range) { return range.first <= c && c <= range.last; });
}

CodePoint code_of(std::string_view character) {
  constexpr CodePoint kReplacement = 0xFFFD;
  return utf8_length_at(character, 0) == 0 ? kReplacement : code_point_of(character);
}

bool is_digit(CodePoint c) { return c >= '0' && c <= '9'; }
bool is_stop(CodePoint c) { return c == '.' || c == ','; }

// ASCII punctuation except ' , - and . which separate_stops() and possessives treat.
bool is_ascii_symbol(CodePoint c) {
  static constexpr Range kSymbols[] = {{'{', '~'}, {'[', '`'}, {'!', '&'}, {'(', '+'}, {':', '@'}, {'/', '/'}};
  return is_in(kSymbols, c);
}

// The ranges of sacreBLEU's tokenizer zh. Two of them mean more than was intended: its literals "\u20000" and "\u2a6d6"
// are two characters each, so that everything from U+2001 to U+2A6D is Chinese, typographic quotation marks included,
// and CJK extension B is not.
bool is_chinese(CodePoint c) {
  static constexpr Range kChinese[] = {{0x2001, 0x2A6D}, {0x2E80, 0x2FDF}, {0x2FF0, 0x303F}, {0x3100, 0x312F},
                                       {0x31A0, 0x31EF}, {0x3200, 0x4DB5}, {0x4E00, 0x9FBB}, {0xF900, 0xFA2D},
                                       {0xFA30, 0xFA6A}, {0xFA70, 0xFAD9}, {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F},
                                       {0xFF00, 0xFFEF}};
  return is_in(kChinese, c);
}

// The ranges of Tercom's Asian normalisation; it splits hiragana and katakana only in lines without the spaces that
// normalisation puts around every line, that is, never.
bool is_tercom_asian(CodePoint c) {
  static constexpr Range kAsian[] = {{0x2E80, 0x2EFF}, {0x31C0, 0x31EF}, {0x3200, 0x3F22}, {0x3400, 0x4DBF},
                                     {0x4E00, 0x9FFF}, {0xF900, 0xFAFF}, {0xFE30, 0xFE4F}};
  return is_in(kAsian, c);
}

bool is_tercom_asian_punctuation(CodePoint c) {
  static constexpr Range kPunctuation[] = {{0x3001, 0x3002}, {0x3008, 0x3011}, {0x3014, 0x301F}, {0x30FB, 0x30FB},
                                           {0xFF61, 0xFF65}, {0xFF01, 0xFF02}, {0xFF08, 0xFF09}, {0xFF0C, 0xFF0C},
                                           {0xFF0E, 0xFF0E}, {0xFF1A, 0xFF1B}, {0xFF1F, 0xFF1F}};
  return is_in(kPunctuation, c);
}

bool is_tercom_punctuation(CodePoint c) {
  return c < 0x80 && std::string_view(".,?:;!\"()").find(static_cast<char>(c)) != std::string_view::npos;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

void unescape(std::string& text) {
  if (text.find('&') == std::string::npos) return;
  replace_all(text, "&quot;", "\"");
  replace_all(text, "&amp;", "&");  // before the next two, so that &amp;lt; becomes <
  replace_all(text, "&lt;", "<");
  replace_all(text, "&gt;", ">");
}

// `text` with spaces around the characters for which `apart` holds.
template <class Apart>
std::string separate(std::string_view text, Apart apart) {
  std::string out;
  out.reserve(text.size() * 2);
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view character = character_at(text, at);
    at += character.size();
    const bool is_apart = apart(code_of(character));
    out.append(is_apart ? " " : "").append(character).append(is_apart ? " " : "");
  }
  return out;
}

template <class Removed>
std::string without(std::string_view text, Removed removed) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view character = character_at(text, at);
    at += character.size();
    if (!removed(code_of(character))) out.append(character);
  }
  return out;
}

enum class Apart { left, right };

// Puts spaces around one of two neighbours for which `matches(left, right)` holds. A match consumes both, as in a
// regular expression's substitution: in "..." the last is not matched.
template <class Matches>
std::string separate_pairs(std::string_view text, Apart apart, Matches matches) {
  std::string out;
  out.reserve(text.size() * 2);
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view left = character_at(text, at);
    at += left.size();
    const std::string_view right = character_at(text, at);
    if (right.empty() || !matches(code_of(left), code_of(right))) {
      out.append(left);
      continue;
    }
    at += right.size();
    if (apart == Apart::left) {
      out.append(" ").append(left).append(" ").append(right);
    } else {
      out.append(left).append(" ").append(right).append(" ");
    }
  }
  return out;
}

// Puts spaces around full stops and commas that are not between digits, and dashes after digits.
std::string separate_stops(std::string_view text) {
  std::string spaced =
      separate_pairs(text, Apart::right, [](CodePoint a, CodePoint b) { return !is_digit(a) && is_stop(b); });
  spaced = separate_pairs(spaced, Apart::left, [](CodePoint a, CodePoint b) { return is_stop(a) && !is_digit(b); });
  return separate_pairs(spaced, Apart::right, [](CodePoint a, CodePoint b) { return is_digit(a) && b == '-'; });
}

std::string tokenize_13a(std::string_view line) {
  std::string text(trim_right(line));
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  unescape(text);
  return separate_stops(separate(" " + text + " ", is_ascii_symbol));
}

std::string tokenize_international(std::string_view line) {
  const auto is_of = [](CodePoint c, std::uint32_t categories) { return (U_GET_GC_MASK(c) & categories) != 0; };
  std::string spaced = separate_pairs(trim_right(line), Apart::right, [&](CodePoint a, CodePoint b) {
    return !is_of(a, U_GC_N_MASK) && is_of(b, U_GC_P_MASK);
  });
  spaced = separate_pairs(spaced, Apart::left,
                          [&](CodePoint a, CodePoint b) { return is_of(a, U_GC_P_MASK) && !is_of(b, U_GC_N_MASK); });
  return separate(spaced, [&](CodePoint c) { return is_of(c, U_GC_S_MASK); });
}

std::string tokenize_chinese(std::string_view line) {
  const std::vector<std::string_view> words = split_words(line);
  if (words.empty()) return {};
  const std::string_view last = words.back();
  const auto trimmed =
      line.substr(words.front().data() - line.data(), last.data() + last.size() - words.front().data());
  return separate_stops(separate(separate(trimmed, is_chinese), is_ascii_symbol));
}

}  // namespace

std::string tokenize(std::string_view line, Tokenization tokenization) {
  switch (tokenization) {
    case Tokenization::mteval_13a: return tokenize_13a(line);
    case Tokenization::international: return tokenize_international(line);
    case Tokenization::chinese: return tokenize_chinese(line);
    case Tokenization::character: return separate(line, [](CodePoint) { return true; });
    case Tokenization::none: break;
  }
  return std::string(line);
}

std::string tokenize_tercom(std::string_view line, const TercomOptions& options) {
  std::string text(trim_right(line));
  if (!options.case_sensitive) text = lower_case(text);
  if (options.normalized) {
    replace_all(text, "\n-", "");
    replace_all(text, "\n", " ");
    unescape(text);
    text = separate(" " + text + " ", is_ascii_symbol);
    replace_all(text, "'s ", " 's ");
    text = separate_stops(text);
    if (options.asian_support) {
      text = separate(text, [](CodePoint c) { return is_tercom_asian(c) || is_tercom_asian_punctuation(c); });
    }
  }
  if (options.no_punct) {
    text = without(text, [&](CodePoint c) {
      return is_tercom_punctuation(c) || (options.asian_support && is_tercom_asian_punctuation(c));
    });
  }
  return fmt::format("{}", fmt::join(split_words(text), " "));
}

}  // namespace attend::metrics
