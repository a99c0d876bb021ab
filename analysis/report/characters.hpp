// Text for display: the pieces and words of a model as a terminal or a picture can show them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

// A character with its combining marks, and its width in columns of a terminal.
struct Character {
  std::string text;
  std::size_t width = 1;  // 2 for East Asian characters and emoji
};

// The characters of a text. Control characters, which terminals obey and XML forbids, become U+FFFD.
std::vector<Character> characters_of(std::string_view text);

// The columns that a text takes.
std::size_t width_of(const std::vector<Character>& text);

// `text` cut to `most` columns, ending in … if something was cut.
std::vector<Character> abbreviated(std::vector<Character> text, std::size_t most);

std::string join(const std::vector<Character>& text);

// `text` with its first letter in upper case, if it is one of a to z.
std::string capitalised(std::string text);

// `text` escaped for HTML and XML, also for quoted attributes. Control characters, which they forbid, become U+FFFD.
std::string escaped(std::string_view text);

}  // namespace attend
