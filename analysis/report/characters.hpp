// Text for people: what a terminal or a picture can show of the pieces and words of a model.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

// A character as it is read, with the marks that belong to it, and the columns it takes in a terminal.
struct Character {
  std::string text;
  std::size_t width = 1;  // 2 of East Asian characters and emoji
};

// The characters of a text. Control characters, which a terminal would obey and XML forbids, become U+FFFD.
std::vector<Character> characters_of(std::string_view text);

// The columns that a text takes.
std::size_t width_of(const std::vector<Character>& text);

// `text` cut to `most` columns; the last one is … where something was cut.
std::vector<Character> abbreviated(std::vector<Character> text, std::size_t most);

std::string join(const std::vector<Character>& text);

// `text` as HTML and XML write it, also in an attribute between quotes. Control characters, which they forbid, become
// U+FFFD.
std::string escaped(std::string_view text);

}  // namespace attend
