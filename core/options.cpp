// Parsing and printing of option values, and their two sources: command lines and TOML.
#include "core/options.hpp"

// toml++ 3.3 asserts (or, with NDEBUG, lets clang assume) that no value of an array is `}`, although the code after the
// assertion rejects such a file properly.
#undef NDEBUG
#define TOML_ASSERT(condition) static_assert(true)
#include <toml++/toml.h>

#include <cmath>
#include <numeric>
#include <sstream>

#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace attend {
namespace {

// The units of Duration, the longest first.
constexpr std::array<std::pair<char, double>, 4> kUnits = {{{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}}};

// True for text that a TOML file can contain.
bool is_plain_text(std::string_view text) { return is_utf8(text) && text.find('\0') == text.npos; }

// The shortest text that parses back to the same bits.
std::string print_number(double value) {
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), end);
  if (const auto e = text.find('e'); e != std::string::npos) {  // 5e-04 -> 5e-4, 1e+09 -> 1e9
    std::size_t digits = e + 1;
    if (text[digits] == '+') text.erase(digits, 1);
    if (text[digits] == '-') ++digits;
    while (digits + 1 < text.size() && text[digits] == '0') text.erase(digits, 1);
  }
  return text;
}

std::string print_duration(Duration value) {
  for (const auto& [unit, seconds] : kUnits) {
    const double count = value.seconds / seconds;
    if (value.seconds > 0 && count == std::floor(count) && count * seconds == value.seconds) {
      return print_number(count) + unit;
    }
  }
  return print_number(value.seconds) + "s";
}

std::optional<Duration> parse_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  for (const auto& [unit, seconds] : kUnits) {
    if (text.back() != unit) continue;
    const auto count = parse_number<double>(text.substr(0, text.size() - 1));
    return count && *count >= 0 ? std::optional(Duration{*count * seconds}) : std::nullopt;
  }
  return std::nullopt;
}

// An integer, also written as 1e9 or 2.5e3.
std::optional<std::int64_t> parse_integer(std::string_view text) {
  constexpr double kExact = 9007199254740992;  // 2^53: above it doubles skip integers
  if (const auto value = parse_number<std::int64_t>(text)) return value;
  const auto value = parse_number<double>(text);
  if (!value || *value != std::floor(*value) || std::abs(*value) > kExact) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

double number_of(Duration value) { return value.seconds; }
double number_of(auto value) { return static_cast<double>(value); }

// The value, if there is one and it is in the option's range.
std::optional<OptionValue> in_range(const Option& traits, const auto& value) {
  if (!value) return std::nullopt;
  const double number = number_of(*value);
  const bool fits = std::isfinite(number) && number >= traits.min && number <= traits.max;
  return fits ? std::optional<OptionValue>(*value) : std::nullopt;
}

// The value that `words` spell for `option`, or nullopt.
std::optional<OptionValue> parse(const BoundOption& option, const std::vector<std::string>& words) {
  if (!std::ranges::all_of(words, is_plain_text)) return std::nullopt;
  if (option.may_be_auto && words.size() == 1 && words[0] == "auto") return Auto{};
  if (option.kind == OptionKind::list) return words;
  if (words.size() != 1) return std::nullopt;
  const std::string& word = words[0];
  switch (option.kind) {
    case OptionKind::flag:
      if (word == "true") return true;
      if (word == "false") return false;
      return std::nullopt;
    case OptionKind::integer: return in_range(option.traits, parse_integer(word));
    case OptionKind::number: return in_range(option.traits, parse_number<double>(word));
    case OptionKind::duration: return in_range(option.traits, parse_duration(word));
    case OptionKind::choice:
      if (std::ranges::find(option.choices, word) == option.choices.end()) return std::nullopt;
      return word;
    default: return word;
  }
}

std::string quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      constexpr std::string_view digits = "0123456789abcdef";
      quoted += {'\\', 'u', '0', '0', digits[static_cast<unsigned char>(c) >> 4], digits[c & 15]};
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string join(const auto& words, std::string_view separator, const auto& print) {
  std::string text;
  for (const auto& word : words) {
    if (!text.empty()) text += separator;
    text += print(word);
  }
  return text;
}

std::string toml_of(const OptionValue& value) {
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) return "[" + join(*list, ", ", quote) + "]";
  const bool bare = std::holds_alternative<bool>(value) || std::holds_alternative<std::int64_t>(value) ||
                    std::holds_alternative<double>(value);
  return bare ? text_of(value) : quote(text_of(value));
}

// A TOML value as words of a command line; nullopt if it has no such form.
std::optional<std::vector<std::string>> words_of(const toml::node& node) {
  if (const auto* flag = node.as_boolean()) return {{flag->get() ? "true" : "false"}};
  if (const auto* integer = node.as_integer()) return {{std::to_string(integer->get())}};
  if (const auto* number = node.as_floating_point()) return {{print_number(number->get())}};
  if (const auto* text = node.as_string()) return {{text->get()}};
  const auto* list = node.as_array();
  if (list == nullptr) return std::nullopt;
  std::vector<std::string> words;
  for (const toml::node& element : *list) {
    if (!element.is_string()) return std::nullopt;
    words.push_back(element.as_string()->get());
  }
  return words;
}

// True if the TOML type fits the option: max-tokens = "4096" and precision = 32 do not.
bool fits(const BoundOption& option, const toml::node& node) {
  if (option.may_be_auto && node.value<std::string_view>() == "auto") return true;
  switch (option.kind) {
    case OptionKind::flag: return node.is_boolean();
    case OptionKind::integer:  // 1e9 is a float in TOML
    case OptionKind::number: return node.is_number();
    case OptionKind::list: return node.is_array() || node.is_string();
    default: return node.is_string();
  }
}

// The beginning of a TOML value, for a message.
std::string printed(const toml::node& node) {
  constexpr std::size_t kLongest = 60;
  std::ostringstream stream;
  stream << toml::toml_formatter(node, toml::format_flags::none);
  std::string text = stream.str();
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

// The position after the string or comment that starts at `at`, or `at` if none does.
std::size_t behind_quoted(std::string_view text, std::size_t at) {
  if (text[at] == '#') return std::min(text.find('\n', at), text.size());
  if (text[at] != '"' && text[at] != '\'') return at;
  const char quote = text[at];
  const std::string three(3, quote);
  const bool long_string = text.substr(at).starts_with(three);
  for (std::size_t i = at + (long_string ? 3 : 1); i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (long_string ? text.substr(i).starts_with(three) : text[i] == quote) {
      return i + (long_string ? 3 : 1);
    } else if (!long_string && text[i] == '\n') {
      return i;
    }
  }
  return text.size();
}

// toml++ recurses once for each dot of a key, without a limit.
void refuse_deep_keys(std::string_view text, const std::string& file) {
  constexpr std::int64_t kMostDots = 200;
  std::int64_t line = 1, dots = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t behind = behind_quoted(text, at); behind > at) {
      line += std::ranges::count(text.substr(at, behind - at), '\n');
      at = behind;
      continue;
    }
    if (text[at] == '\n') {
      ++line;
      dots = 0;
    }
    dots += text[at++] == '.';
    if (dots > kMostDots) {
      throw UserError(file + ":" + std::to_string(line) + ": found more than " + std::to_string(kMostDots) +
                          " dots, expected `name = value`",
                      "write option names without dots");
    }
  }
}

// Throws UserError naming file and line if the text is not TOML.
toml::table parse_table(std::string_view text, const std::string& file, const std::string& remedy) {
  refuse_deep_keys(text, file);
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw UserError(file + ":" + std::to_string(error.source().begin.line) + ": " + std::string(error.description()),
                    remedy);
  }
}

std::string place_of(const toml::node& node, const std::string& file) {
  return file + ":" + std::to_string(node.source().begin.line);
}

[[noreturn]] void refuse_value(const BoundOption& option, const std::string& where, const std::string& found) {
  throw UserError(where + ": found " + found + ", expected " + expected_of(option),
                  std::string(option.name) + ": " + std::string(option.traits.help));
}

std::vector<std::string_view> names_of(const BoundOptions& options) {
  std::vector<std::string_view> names;
  for (const BoundOption& option : options) names.push_back(option.name);
  return names;
}

std::string with_dashes(std::string_view name) {
  std::string dashed(name);
  std::ranges::replace(dashed, '_', '-');
  return dashed;
}

}  // namespace

void OptionBinder::add(BoundOption option) {
  const std::string name(option.name);
  ensure(!name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos,
         "option names are kebab-case: " + name);
  ensure(find_option(options, name) == nullptr, "option names are unique: " + name);
  ensure(!option.traits.help.empty(), "every option has help: " + name);
  const auto is_about_this = [&](const Condition& condition) {
    return !condition.is_on_fact && condition.name == name;
  };
  const auto has_one = [&](const BoundOption& known) { return std::ranges::any_of(known.conditions, is_about_this); };
  ensure(!has_one(option) && std::ranges::none_of(options, has_one), "conditions name earlier options: " + name);
  for (const Condition& condition : option.conditions) {
    const BoundOption* other = condition.is_on_fact ? nullptr : find_option(options, condition.name);
    for (const std::string_view value : condition.values) {
      const bool known = other == nullptr || other->kind == OptionKind::list ||
                         std::ranges::find(other->choices, value) != other->choices.end() ||
                         (other->kind == OptionKind::integer && value == "0");
      ensure(value.empty() || known, "conditions name values: " + name);
    }
  }
  options.push_back(std::move(option));
}

std::string OptionOrigins::operator()(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? std::string(name) + " (" + others_ + ")" : found->second;
}

std::string text_of(const OptionValue& value) {
  struct Printer {
    std::string operator()(Auto) const { return "auto"; }
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t integer) const { return std::to_string(integer); }
    std::string operator()(double number) const { return print_number(number); }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(const std::vector<std::string>& list) const { return join(list, " ", std::identity()); }
    std::string operator()(Duration duration) const { return print_duration(duration); }
  };
  return std::visit(Printer{}, value);
}

std::string expected_of(const BoundOption& option) {
  const auto bound = [&](double value) {
    return option.kind == OptionKind::duration ? print_duration({value}) : print_number(value);
  };
  const auto range = [&](const std::string& what) {
    const bool low = std::isfinite(option.traits.min);
    const bool high = std::isfinite(option.traits.max);
    if (low && high) return what + " from " + bound(option.traits.min) + " to " + bound(option.traits.max);
    if (low) return what + " of at least " + bound(option.traits.min);
    if (high) return what + " of at most " + bound(option.traits.max);
    return what;
  };
  const auto value = [&]() -> std::string {
    switch (option.kind) {
      case OptionKind::flag: return "true or false";
      case OptionKind::integer: return range("an integer");
      case OptionKind::number: return range("a number");
      case OptionKind::duration: return range("a time such as 90s, 45m, 1.5h or 2d");
      case OptionKind::choice: return "one of " + join(option.choices, ", ", std::identity());
      case OptionKind::list: return "a list of UTF-8 texts";
      case OptionKind::text: break;
    }
    return "a UTF-8 text";
  };
  return value() + (option.may_be_auto ? ", or auto" : "");
}

void apply_words(BoundOptions& options, std::string_view name, const std::vector<std::string>& words,
                 OptionOrigins& origins) {
  BoundOption* option = find_option(options, with_dashes(name));
  if (option == nullptr) {
    const std::string_view nearest = nearest_name(with_dashes(name), names_of(options));
    throw UserError("--" + std::string(name) + ": no such option",
                    nearest.empty() ? "--help lists the options" : "did you mean --" + std::string(nearest) + "?");
  }
  const std::string flag = "--" + std::string(option->name);
  const auto value = words.empty() ? std::nullopt : parse(*option, words);
  if (!value) refuse_value(*option, flag, words.empty() ? "nothing" : join(words, " ", quote));
  option->set(*value);
  origins.record(option->name, flag);
}

void apply_toml(BoundOptions& options, std::string_view text, const std::string& file, OptionOrigins& origins,
                UnknownKeys unknown) {
  const toml::table table = parse_table(
      text, file, "a config file is TOML, one `name = value` per line; `attend config COMMAND` prints a complete one");
  std::map<std::string, std::string> seen;  // max_tokens and max-tokens are one key
  for (const auto& [key, node] : table) {
    const std::string name = with_dashes(key.str());
    const std::string place = place_of(node, file) + ": ";
    BoundOption* option = find_option(options, name);
    if (option == nullptr && unknown == UnknownKeys::ignore) continue;
    if (node.is_table()) {
      throw UserError(place + "found the table [" + std::string(key.str()) + "], expected options",
                      "write options without a [section]");
    }
    if (option == nullptr) {
      const std::string_view nearest = nearest_name(name, names_of(options));
      throw UserError(place + std::string(key.str()) + ": no such option",
                      nearest.empty() ? "`attend config COMMAND` prints the options of a command"
                                      : "did you mean " + std::string(nearest) + "?");
    }
    const auto [other, first] = seen.emplace(name, key.str());
    if (!first) {
      throw UserError(
          place + "duplicate option " + name + ", as " + other->second + " and as " + std::string(key.str()),
          "leave one of them out");
    }
    const auto words = fits(*option, node) ? words_of(node) : std::nullopt;
    const auto value = words ? parse(*option, *words) : std::nullopt;
    if (!value) refuse_value(*option, place + name, printed(node));
    option->set(*value);
    origins.record(name, place + name);
  }
}

std::vector<PlacedText> read_placed_texts(const std::filesystem::path& path) {
  const std::string file = path.string();
  const toml::table table = parse_table(read_file(path, kMaxConfigBytes), file, "write the file as TOML");
  std::vector<std::pair<toml::source_position, PlacedText>> found;
  const auto add = [&](const std::string& name, const toml::key& key, const toml::node& node) {
    const auto* text = node.as_string();
    if (text == nullptr) {
      throw UserError(
          place_of(node, file) + ": " + std::string(key.str()) + " is " + printed(node) + ", expected a text",
          "write it in quotes");
    }
    found.emplace_back(
        node.source().begin,
        PlacedText{.table = name, .key = std::string(key.str()), .text = text->get(), .place = place_of(node, file)});
  };
  for (const auto& [key, node] : table) {
    const toml::table* inner = node.as_table();
    if (inner == nullptr) {
      add({}, key, node);
    } else {
      for (const auto& [name, text] : *inner) add(std::string(key.str()), name, text);
    }
  }
  std::ranges::sort(found, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<PlacedText> texts;
  for (auto& [position, text] : found) texts.push_back(std::move(text));
  return texts;
}

void apply_toml_file(BoundOptions& options, const std::filesystem::path& file, OptionOrigins& origins,
                     UnknownKeys unknown) {
  apply_toml(options, read_file(file, kMaxConfigBytes), file.string(), origins, unknown);
}

void adopt_options(const BoundOptions& ours, const BoundOptions& theirs, const OptionOrigins& origins) {
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!origins.given(ours[i].name) && ours[i].traits.is_adopted) ours[i].set(theirs[i].get());
  }
}

void adopt_model_options(const BoundOptions& ours, const BoundOptions& theirs, const std::string& from,
                         const OptionOrigins& origins) {
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!origins.given(ours[i].name) || !ours[i].traits.is_adopted || ours[i].get() == theirs[i].get()) continue;
    throw UserError(origins(ours[i].name) + ": " + text_of(ours[i].get()) + ", but the weights of " + from + " have " +
                        text_of(theirs[i].get()),
                    "leave it out: the options of the model are adopted with its weights");
  }
  adopt_options(ours, theirs, origins);
}

std::string to_toml(const BoundOptions& options) {
  std::string text;
  for (const OptionBlock& block : blocks_of(options)) {
    if (!block.heading.empty()) text += (text.empty() ? "# " : "\n# ") + block.heading + "\n\n";
    for (const auto& [option, condition] : block.entries) {
      const OptionValue value = option->get();
      // A required option that is missing is a line to fill in.
      const bool missing = option->traits.required && text_of(value).empty();
      text += "# " + condition + std::string(option->traits.help) + "; " + expected_of(*option) + "\n";
      text += (missing ? "# " : "") + std::string(option->name) + " = " + toml_of(value) + "\n";
    }
  }
  return text;
}

OptionTexts texts_of(const BoundOptions& options, const std::function<bool(const BoundOption&)>& counts) {
  OptionTexts texts;
  for (const BoundOption& option : options) {
    if (counts(option)) texts.emplace(option.name, text_of(option.get()));
  }
  return texts;
}

std::string_view nearest_name(std::string_view word, const std::vector<std::string_view>& names) {
  std::string_view nearest;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string_view name : names) {
    // Levenshtein's distance, one row at a time.
    std::vector<std::size_t> row(name.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < word.size(); ++i) {
      std::size_t diagonal = std::exchange(row[0], i + 1);
      for (std::size_t j = 0; j < name.size(); ++j) {
        const std::size_t replaced = diagonal + (word[i] == name[j] ? 0 : 1);
        diagonal = std::exchange(row[j + 1], std::min({replaced, row[j] + 1, row[j + 1] + 1}));
      }
    }
    // Half of a short word is too much to guess, if not even its first letter is right.
    if (row.back() > 1 && word.size() < 6 && name.front() != word.front()) continue;
    if (row.back() < least) {
      least = row.back();
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace attend
