#include "core/command_line.hpp"

#include <algorithm>
#include <cctype>

namespace attend {
namespace {

std::string shell_word(const std::string& word) {
  const auto is_plain = [](unsigned char c) {
    return c >= 0x80 || std::isalnum(c) != 0 ||
           std::string_view("-_./:=+,@%").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

std::string shell_words(const OptionValue& value) {
  const auto* list = std::get_if<std::vector<std::string>>(&value);
  if (list == nullptr) return " " + shell_word(text_of(value));
  std::string text;
  for (const std::string& word : *list) text += " " + shell_word(word);
  return text;
}

}  // namespace

std::string command_line(std::string_view command, const BoundOptions& options, const BoundOptions& defaults) {
  std::string line = "attend " + std::string(command), rest;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const BoundOption& option = options[i];
    const OptionValue value = option.get();
    if (value == defaults[i].get()) continue;
    if (option.traits.positional) {
      line += shell_words(value);
    } else if (const bool* flag = std::get_if<bool>(&value)) {
      rest += (*flag ? " --" : " --no-") + std::string(option.name);
    } else {
      rest += " --" + std::string(option.name) + shell_words(value);
    }
  }
  return line + rest;
}

}  // namespace attend
