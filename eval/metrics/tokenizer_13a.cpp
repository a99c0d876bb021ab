#include "eval/metrics/tokenizer_13a.hpp"

#include <array>
#include <utility>

#include "eval/metrics/text.hpp"

namespace attend::metrics {
namespace {

// ASCII punctuation except ' , - and . (handled by separate passes), and the space.
constexpr std::array<bool, 256> kPunctuation = [] {
  std::array<bool, 256> set{};
  for (const auto& [first, last] : {std::pair{'{', '~'}, {'[', '`'}, {' ', '&'}, {'(', '+'}, {':', '@'}, {'/', '/'}}) {
    for (int c = first; c <= last; ++c) set[static_cast<std::size_t>(c)] = true;
  }
  return set;
}();

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_stop(char c) { return c == '.' || c == ','; }

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// Copies `text`; where `matches(left, right)` holds for two neighbours, puts spaces around the one that `stop_first`
// selects. A match consumes both bytes, as in a regular expression's substitution: in "..." the last is not matched.
template <class Matches>
std::string separate(std::string_view text, bool stop_first, Matches matches) {
  std::string out;
  out.reserve(text.size() * 2);
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (at + 1 < text.size() && matches(text[at], text[at + 1])) {
      const char left = text[at];
      const char right = text[++at];
      if (stop_first) {
        out.append({' ', left, ' ', right});
      } else {
        out.append({left, ' ', right, ' '});
      }
    } else {
      out.push_back(text[at]);
    }
  }
  return out;
}

}  // namespace

std::string tokenize_13a(std::string_view line) {
  std::string text(trim_right(line));
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  if (text.find('&') != std::string::npos) {
    replace_all(text, "&quot;", "\"");
    replace_all(text, "&amp;", "&");  // before the next two, so that &amp;lt; becomes <
    replace_all(text, "&lt;", "<");
    replace_all(text, "&gt;", ">");
  }

  std::string spaced = " ";
  spaced.reserve(text.size() * 2);
  for (const char c : text) {
    if (kPunctuation[static_cast<unsigned char>(c)]) {
      spaced.append({' ', c, ' '});
    } else {
      spaced.push_back(c);
    }
  }
  spaced.push_back(' ');
  spaced = separate(spaced, false, [](char left, char right) { return !is_digit(left) && is_stop(right); });
  spaced = separate(spaced, true, [](char left, char right) { return is_stop(left) && !is_digit(right); });
  return separate(spaced, false, [](char left, char right) { return is_digit(left) && right == '-'; });
}

}  // namespace attend::metrics
