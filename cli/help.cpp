#include "cli/help.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/process.hpp"

namespace attend {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kNameColumns = 30;

// The page of a command with more options than these has two lengths.
constexpr std::size_t kLongPage = 24;

constexpr std::string_view kSummary = "train, compare and use translation models, language models and text encoders";

// The rows of every command.
constexpr std::array<std::array<std::string_view, 2>, 3> kFrameRows = {{
    {"--config FILE", "options from a TOML file; repeatable, later files win, flags win over files"},
    {"-q, --quiet", "print only warnings and errors"},
    {"-h, --help [all|WORD]",
     "print the options that most people set, all, or those about a word; beside other options, such as --model luong, "
     "those that go with them"},
}};
constexpr std::array<std::array<std::string_view, 2>, 3> kOtherCommands = {{
    {"config COMMAND", "print the options a command would use, as a TOML file for --config"},
    {"completion SHELL", "print what bash, zsh or fish needs to complete commands, options and their values"},
    {"help COMMAND|WORD", "print the options of a command, or those about a word; --man: a manual page"},
}};

// `left` in its own column, `right` next to it, wrapped at words.
std::string row(const std::string& left, const std::string& right) {
  std::string text = "  " + left;
  std::size_t column = text.size();
  const auto indent = [&] {
    if (column >= kNameColumns) {
      text += '\n';
      column = 0;
    }
    text.append(kNameColumns - column, ' ');
    column = kNameColumns;
  };
  indent();
  for (std::size_t begin = 0; begin < right.size();) {
    const std::size_t end = std::min(right.find(' ', begin), right.size());
    if (column > kNameColumns && column + 1 + (end - begin) > kColumns) indent();
    if (column > kNameColumns) {
      text += ' ';
      ++column;
    }
    text.append(right, begin, end - begin);
    column += end - begin;
    begin = end + 1;
  }
  return text + '\n';
}

// The name of the value: its placeholder, or its kind.
std::string placeholder_of(const BoundOption& option) {
  if (!option.traits.placeholder.empty()) return std::string(option.traits.placeholder);
  if (option.traits.file != FileUse::none) return "FILE";
  switch (option.kind) {
    case OptionKind::flag: return {};
    case OptionKind::integer: return "N";
    case OptionKind::number: return "X";
    case OptionKind::duration: return "TIME";
    case OptionKind::choice: return "NAME";
    default: return "TEXT";
  }
}

std::string spelling_of(const BoundOption& option) {
  if (option.kind == OptionKind::flag && !option.may_be_auto) {
    return (option.get() == OptionValue(true) ? "--[no-]" : "--") + std::string(option.name);
  }
  return "--" + std::string(option.name) + " " + placeholder_of(option) +
         (option.kind == OptionKind::list ? "..." : "");
}

std::string default_of(const BoundOption& option) {
  if (option.traits.required) return "required";
  const std::string value = text_of(option.get());
  return value.empty() ? "none" : value;
}

std::string meaning_of(const BoundOption& option) {
  std::string text(option.traits.help);
  const bool plain = option.kind == OptionKind::text || option.kind == OptionKind::list;
  if (!plain && option.kind != OptionKind::flag) text += "; " + expected_of(option);
  const bool is_off = option.kind == OptionKind::flag && option.get() == OptionValue(false);
  if (!is_off) text += " [" + default_of(option) + "]";
  return text;
}

std::string usage_of(const Command& command, const BoundOptions& options) {
  std::string usage = "attend " + command.name;
  for (const BoundOption& option : options) {
    if (!option.traits.positional) continue;
    const std::string name = placeholder_of(option) + (option.kind == OptionKind::list ? "..." : "");
    usage += option.traits.required ? " " + name : " [" + name + "]";
  }
  return usage + " [options]";
}

// What a call has of facts that its options changed. None if it would have to read a run that is not there.
Facts given_facts(const Command& command, const Invocation& call) {
  const auto facts_of = [](const Invocation& its) {
    try {
      return its.facts();
    } catch (const UserError&) {
      return Facts();
    }
  };
  const Facts usual = facts_of(command.prepare());
  Facts given = facts_of(call);
  std::erase_if(given, [&](const auto& fact) {
    const auto same = usual.find(fact.first);
    return same != usual.end() && same->second.value == fact.second.value;
  });
  return given;
}

std::string in_lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool is_about(const BoundOption& option, const std::vector<std::string>& words) {
  std::string text = std::string(option.name) + " " + std::string(option.traits.help);
  for (const std::string_view choice : option.choices) text += " " + std::string(choice);
  text = in_lower_case(std::move(text));
  return std::ranges::all_of(words, [&](const std::string& word) {
    return text.find(in_lower_case(word.substr(std::min(word.find_first_not_of('-'), word.size())))) != text.npos;
  });
}

// Text of a manual page, where a hyphen is also a minus sign, and . and ' have no meaning at the start of a line.
std::string roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (escaped.empty() && (c == '.' || c == '\'')) escaped = "\\&";
    if (c == '-' || c == '\\') escaped += '\\';
    escaped += c == '\\' ? 'e' : c;
  }
  return escaped;
}
std::string paragraph(std::string_view term, std::string_view text) {
  return ".TP\n\\fB" + roff(term) + "\\fR\n" + roff(text) + "\n";
}

// A cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|' || c == '<') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// The rows of a command's Markdown table.
std::vector<std::string> rows_of(const Command& command) {
  std::vector<std::string> rows;
  const Invocation invocation = command.prepare();
  for (const BoundOption& option : invocation.options) {
    std::string condition = conditions_text(invocation.options, option);
    if (!condition.empty()) condition = "*" + condition + "*: ";
    rows.push_back("| `--" + std::string(option.name) + "` | " + cell(expected_of(option)) + " | " +
                   cell(default_of(option)) + " | " + condition + cell(option.traits.help) + " |\n");
  }
  return rows;
}

bool is_training(const Command& command) {
  const BoundOptions options = command.prepare().options;
  return find_option(options, "resume") != nullptr;
}

// The rows that all training commands have in common.
std::vector<std::string> shared_rows(const std::vector<Command>& commands) {
  std::vector<std::string> shared;
  bool first = true;
  for (const Command& command : commands) {
    if (!is_training(command)) continue;
    const std::vector<std::string> rows = rows_of(command);
    if (std::exchange(first, false)) shared = rows;
    std::erase_if(shared, [&](const std::string& row) { return std::ranges::find(rows, row) == rows.end(); });
  }
  return shared;
}

}  // namespace

std::string program_help(const std::vector<Command>& commands) {
  std::string text = "attend: " + std::string(kSummary) + "\n\nUsage: attend COMMAND [options]\n\nCommands\n";
  for (const Command& command : commands) text += row(command.name, command.help);
  for (const auto& [name, help] : kOtherCommands) text += row(std::string(name), std::string(help));
  return text + "\n`attend --version` prints the version, and `attend -q COMMAND` only warnings and errors.\n";
}

std::string command_help(const Command& command, const Invocation& call, const std::vector<std::string>& words) {
  const bool is_all = words == std::vector<std::string>{"all"};
  if (!words.empty() && !is_all) return options_about({command}, words);
  const std::string program = "attend " + command.name;
  std::string text = program + ": " + command.help + "\n\nUsage: " + usage_of(command, call.options) + "\n";
  if (!command.example.empty()) text += "Example: " + program + " " + command.example + "\n";
  const bool is_short = !is_all && call.options.size() > kLongPage;
  const Facts facts = given_facts(command, call);
  for (const OptionBlock& block : blocks_of(call.options)) {
    std::string rows;
    for (const auto& [option, condition] : block.entries) {
      const auto applies = applies_as_given(call.options, *option, facts, call.origins);
      const bool is_shown = applies.value_or(!is_short || option->traits.common || option->traits.required);
      if (is_shown) rows += row(spelling_of(*option), condition + meaning_of(*option));
    }
    if (!rows.empty()) text += "\n" + (block.heading.empty() ? "Options" : block.heading) + "\n" + rows;
  }
  text += "\nFor every command\n";
  for (const auto& [name, help] : kFrameRows) text += row(std::string(name), std::string(help));
  if (is_short) {
    text += "\n`" + program + " --help all` lists all " + std::to_string(call.options.size()) +
            " options, `attend help WORD` those about a word.\n";
  }
  return text;
}

std::string options_about(const std::vector<Command>& commands, const std::vector<std::string>& words) {
  std::vector<std::pair<std::string, std::string>> found;  // a row and its commands, in the order of the first one
  for (const Command& command : commands) {
    const Invocation call = command.prepare();
    for (const BoundOption& option : call.options) {
      if (!is_about(option, words)) continue;
      const std::string condition = conditions_text(call.options, option);
      std::string text = row(spelling_of(option), (condition.empty() ? "" : condition + ": ") + meaning_of(option));
      const auto known = std::ranges::find(found, text, &std::pair<std::string, std::string>::first);
      if (known == found.end()) {
        found.emplace_back(std::move(text), command.name);
      } else {
        known->second += ", " + command.name;
      }
    }
  }
  if (found.empty()) {
    const std::string asked = text_of(words);
    std::vector<std::string_view> names(commands.size());
    std::ranges::transform(commands, names.begin(), &Command::name);
    const std::string_view nearest = commands.size() == 1 ? "" : nearest_name(asked, names);
    throw UserError("no option of " + (commands.size() == 1 ? "attend " + commands[0].name : "any command") +
                        " is about \"" + asked + "\"",
                    nearest.empty() ? "`attend --help` lists the commands, `attend help COMMAND all` all options of one"
                                    : "did you mean `attend help " + std::string(nearest) + "`?");
  }
  std::string text;
  while (!found.empty()) {
    const std::string of = found.front().second;
    text += (text.empty() ? "attend " : "\nattend ") + of + "\n";
    for (const auto& [its_row, its_commands] : found) text += its_commands == of ? its_row : "";
    std::erase_if(found, [&](const auto& entry) { return entry.second == of; });
  }
  return text;
}

std::string manual_page(const std::vector<Command>& commands, const Command* command) {
  const std::string name = command == nullptr ? "attend" : "attend-" + command->name;
  const auto page = [&](std::string_view help, std::string_view usage, std::string_view example) {
    std::string text = ".TH \"" + roff(name) + "\" 1 \"\" \"" + roff("attend " + std::string(version())) + "\"\n";
    text += ".SH NAME\n" + roff(name) + " \\- " + roff(help) + "\n.SH SYNOPSIS\n" + roff(usage) + "\n";
    return example.empty() ? text : text + ".SH EXAMPLE\n.nf\n" + roff(example) + "\n.fi\n";
  };
  std::string text, others;
  if (command == nullptr) {
    text = page(kSummary, "attend COMMAND [options]", "") + ".SH COMMANDS\n";
    for (const Command& known : commands) {
      text += paragraph(known.name, known.help);
      others += ",\n.BR " + roff("attend-" + known.name) + " (1)";
    }
    for (const auto& [other, help] : kOtherCommands) text += paragraph(other, help);
  } else {
    const Invocation call = command->prepare();
    const std::string& example = command->example;
    text = page(command->help, usage_of(*command, call.options),
                example.empty() ? "" : "attend " + command->name + " " + example) +
           ".SH OPTIONS\n";
    for (const OptionBlock& block : blocks_of(call.options)) {
      if (!block.heading.empty()) text += ".SS " + roff(block.heading) + "\n";
      for (const auto& [option, condition] : block.entries)
        text += paragraph(spelling_of(*option), condition + meaning_of(*option));
    }
    text += ".SS For every command\n";
    for (const auto& [option, help] : kFrameRows) text += paragraph(option, help);
    others = ",\n.BR attend (1)";
  }
  text += ".SH EXIT STATUS\n" + paragraph("0", "success") + paragraph("1", "a defect of the program") +
          paragraph("2", "a mistake of the user, which the message names") +
          paragraph("75", "stopped by a signal; what was done is saved") + ".SH SEE ALSO\n" + others.substr(2) + "\n";
  return text;
}

std::string options_markdown(const std::vector<Command>& commands) {
  std::string text =
      "# Options\n\n"
      "Written by `attend config --markdown`; a test fails when it is stale.\n\n"
      "Every option is a flag (`--learning-rate 1e-3`) and, under the same name, a key of a TOML file "
      "(`learning-rate = 1e-3`) given with `--config FILE`. Where the value is true or false, `--dry-run` is "
      "`--dry-run true`, and `--no-input-feeding` is `--input-feeding false`. `--config` may be repeated: later files "
      "win, and flags win "
      "over files. Every command also has `--quiet`, which prints only warnings and errors. `attend config COMMAND` "
      "prints the options that a command would use, `attend help COMMAND` those that most people set, `attend help "
      "WORD` those about a word.\n";
  const std::vector<std::string> shared = shared_rows(commands);
  const auto table = [](const std::vector<std::string>& rows) {
    std::string lines = "\n| option | value | default | meaning |\n|---|---|---|---|\n";
    for (const std::string& row : rows) lines += row;
    return lines;
  };
  bool listed = false;
  for (const Command& command : commands) {
    const bool trains = is_training(command);
    if (trains && !std::exchange(listed, true)) {
      text +=
          "\n## Options of every training\n\n`attend train`, `attend pretrain` and `attend finetune` share these.\n" +
          table(shared);
    }
    std::vector<std::string> rows = rows_of(command);
    if (trains)
      std::erase_if(rows, [&](const std::string& row) { return std::ranges::find(shared, row) != shared.end(); });
    text += "\n## attend " + command.name + "\n\n" + command.help +
            (trains ? "; see also the options of every training\n" : "\n") + table(rows);
  }
  return text;
}

}  // namespace attend
