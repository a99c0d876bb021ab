// Text as sacreBLEU sees it through Python's str: Unicode white space, lower case with its context, code points.
//
// All text is UTF-8. Bytes that are not valid UTF-8 are no error here: each bad sequence counts as one U+FFFD where
// code points are asked for, and as itself in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attend::metrics {

// `text` without the white space at its end.
std::string_view trim_right(std::string_view text);

// The words between white space: str.split(). They point into `text`.
std::vector<std::string_view> split_words(std::string_view text);

// The characters (code points) that are no white space, each as its bytes packed into a number.
std::vector<std::uint32_t> visible_characters(std::string_view text);

// Full Unicode lower case, for no language: İ becomes two code points, a final Σ becomes ς. str.lower().
std::string lower_case(std::string_view text);

}  // namespace attend::metrics
