// The tokenizer "13a" of mteval-v13a.pl as sacreBLEU defines it, without its regular expressions.
#pragma once

#include <string>
#include <string_view>

namespace attend::metrics {

// `line` with white space between its tokens, for split_words. Only ASCII punctuation is split off, so the passes may
// work on bytes.
//
//   "It's 3.14, i.e. U.S.-based."  ->  It's 3.14 , i . e . U . S . -based .
std::string tokenize_13a(std::string_view line);

}  // namespace attend::metrics
