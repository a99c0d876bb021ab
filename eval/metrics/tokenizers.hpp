// Text as sacreBLEU sees it through Python's str (Unicode white space, context-dependent lower-casing, code points),
// and its tokenizers.
//
// All text is UTF-8. Invalid UTF-8 is not an error: each bad sequence counts as one U+FFFD among code points and is
// kept unchanged in words.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/options.hpp"

namespace attend::metrics {

// The words between white space: str.split(). They point into `text`.
std::vector<std::string_view> split_words(std::string_view text);

// True if some character is a letter, a mark on one, or a digit by Unicode: not punctuation, a symbol or white space.
bool has_word_character(std::string_view text);

// The characters (code points) except white space, each with its bytes packed into a number.
std::vector<std::uint32_t> visible_characters(std::string_view text);

// Full Unicode lower-casing without a locale, as str.lower(): İ becomes two code points, a final Σ becomes ς.
std::string lower_case(std::string_view text);

// The tokenizers of sacreBLEU 2.6.0 and of its TER (Tercom), without their regular expressions.
//
// Left out: tokenizers that need a model or a dictionary (spm, flores101, ja-mecab, ko-mecab).

enum class Tokenization { none, mteval_13a, international, character, chinese };

// `line` with white space between its tokens, for split_words.
//
//   13a    It's 3.14, i.e. U.S.-based.   ->   It's 3.14 , i . e . U . S . -based .
//   intl   „Ja“ 5€, 3.                   ->   „ Ja “ 5 € , 3.               Unicode's punctuation and symbols
//   char   ab c                          ->   a b c
//   zh     我有2.5本书。                 ->   我 有 2.5 本 书 。            Chinese characters apart, the rest as 13a
std::string tokenize(std::string_view line, Tokenization tokenization);

// Tercom's changes to a line before it counts edits.
struct TercomOptions {
  bool normalized = false;      // splits off punctuation, as 13a, and 's
  bool no_punct = false;        // removes . , ? : ; ! " ( )
  bool asian_support = false;   // both for Chinese and Japanese characters and punctuation
  bool case_sensitive = false;  // keeps upper case
};
// Single spaces between words.
std::string tokenize_tercom(std::string_view line, const TercomOptions& options);

}  // namespace attend::metrics

template <>
inline constexpr auto attend::kEnumNames<attend::metrics::Tokenization> =
    std::to_array<attend::EnumName<attend::metrics::Tokenization>>({
        {metrics::Tokenization::mteval_13a, "13a"},
        {metrics::Tokenization::international, "intl"},
        {metrics::Tokenization::character, "char"},
        {metrics::Tokenization::chinese, "zh"},
        {metrics::Tokenization::none, "none"},
    });
