// Text as sacreBLEU sees it through Python's str: Unicode white space, context-dependent lower-casing, code points.
//
// All text is UTF-8. Invalid UTF-8 is not an error: each bad sequence counts as one U+FFFD among code points and is
// kept unchanged in words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attend::metrics {

// `text` without trailing white space.
std::string_view trim_right(std::string_view text);

// The words between white space: str.split(). They point into `text`.
std::vector<std::string_view> split_words(std::string_view text);

// True if some character is a letter, a mark on one, or a digit by Unicode: not punctuation, a symbol or white space.
bool has_word_character(std::string_view text);

// The characters (code points) except white space, each with its bytes packed into a number.
std::vector<std::uint32_t> visible_characters(std::string_view text);

// Full Unicode lower-casing without a locale, as str.lower(): İ becomes two code points, a final Σ becomes ς.
std::string lower_case(std::string_view text);

}  // namespace attend::metrics
