#include "cli/help.hpp"

#include <algorithm>
#include <utility>

#include "core/conditions.hpp"

namespace attend {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kNameColumns = 30;

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
  return std::ranges::find(options, "resume", &BoundOption::name) != options.end();
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
  std::string text =
      "attend: train, compare and use translation models, language models and text encoders\n\n"
      "Usage: attend COMMAND [options]\n\nCommands\n";
  for (const Command& command : commands) text += row(command.name, command.help);
  text += row("config COMMAND", "print the options a command would use, as a TOML file for --config");
  text += "\n`attend help COMMAND` lists the options of a command; `attend --version` prints the version.\n";
  return text;
}

std::string command_help(const Command& command) {
  const Invocation invocation = command.prepare();
  std::string text = "attend " + command.name + ": " + command.help + "\n\nUsage: attend " + command.name;
  for (const BoundOption& option : invocation.options) {
    if (!option.traits.positional) continue;
    const std::string name = placeholder_of(option) + (option.kind == OptionKind::list ? "..." : "");
    text += option.traits.required ? " " + name : " [" + name + "]";
  }
  text += " [options]\n";
  for (const OptionBlock& block : blocks_of(invocation.options)) {
    text += "\n" + (block.heading.empty() ? "Options" : block.heading) + "\n";
    for (const auto& [option, condition] : block.entries) {
      text += row(spelling_of(*option), condition + meaning_of(*option));
    }
  }
  text += "\nFor every command\n";
  text += row("--config FILE", "options from a TOML file; repeatable, later files win, flags win over files");
  text += row("--quiet", "print only warnings and errors");
  text += row("--help", "print this text");
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
      "prints the options that a command would use.\n";
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
