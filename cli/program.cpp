#include "cli/program.hpp"

#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <new>

#include "cli/help.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/version.hpp"

namespace attend {
namespace {

// What to lower when memory does not suffice, as far as a command has it.
constexpr std::array<std::string_view, 4> kMemoryOptions = {"max-tokens", "batch-size", "beam", "workers"};

// A command line split into options and their texts; what a text means is decided in core/options alone.
struct ParsedLine {
  std::vector<std::string> config_files;
  std::map<std::string, std::vector<std::string>> given;  // by option
  bool quiet = false;
  bool help = false;
};

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

// Whether a word is -x or --name and not a value such as -, -1 or -.5.
bool is_flag(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9') && word[1] != '.';
}

const BoundOption* find_option(const BoundOptions& options, std::string_view name) {
  const auto found = std::ranges::find(options, name, &BoundOption::name);
  return found == options.end() ? nullptr : &*found;
}

[[noreturn]] void refuse_flag(const std::string& program, const BoundOptions& options, const std::string& flag) {
  std::vector<std::string_view> names = {"config", "quiet", "help"};
  for (const BoundOption& option : options) names.push_back(option.name);
  const std::string_view nearest = nearest_name(std::string_view(flag).substr(flag.starts_with("--") ? 2 : 1), names);
  throw UserError(flag + ": no such option of " + program, nearest.empty()
                                                               ? "`" + program + " --help` lists the options"
                                                               : "did you mean --" + std::string(nearest) + "?");
}

// The forms are --name VALUE, --name=VALUE, --list VALUE VALUE, --flag and --no-flag; after -- and outside of these
// stand the positionals, which fill their options in the order of declaration. Of a value given twice the last counts,
// of a list all do.
ParsedLine parse_line(const std::string& program, const BoundOptions& options, const std::vector<std::string>& words) {
  ParsedLine line;
  std::vector<std::string> positionals;
  for (std::size_t i = 0; i < words.size();) {
    const std::string& word = words[i++];
    if (word == "--") {
      positionals.insert(positionals.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    if (!is_flag(word)) {
      positionals.push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    std::string flag = word.substr(0, equals);
    std::ranges::replace(flag, '_', '-');
    if (flag == "--help" || flag == "-h") {
      line.help = true;
      return line;
    }
    if (flag == "--quiet") {
      line.quiet = true;
      continue;
    }
    const BoundOption* option = flag.starts_with("--") ? find_option(options, flag.substr(2)) : nullptr;
    const bool is_config = flag == "--config";
    const bool is_list = option && option->kind == OptionKind::list;
    const bool is_switch = option && option->kind == OptionKind::flag && !option->may_be_auto;
    if (!option && !is_config) {
      const BoundOption* denied = flag.starts_with("--no-") ? find_option(options, flag.substr(5)) : nullptr;
      if (!denied || denied->kind != OptionKind::flag || equals != std::string::npos) {
        refuse_flag(program, options, flag);
      }
      line.given[std::string(denied->name)] = {"false"};
      continue;
    }
    std::vector<std::string> texts;
    if (equals != std::string::npos) {
      texts = {word.substr(equals + 1)};
    } else if (is_switch) {
      texts = {"true"};
    } else {
      while (i < words.size() && (is_list || texts.empty()) && !is_flag(words[i])) texts.push_back(words[i++]);
    }
    if (is_config) {
      if (texts.empty()) throw UserError("--config: found nothing, expected a TOML file");
      line.config_files.push_back(texts[0]);
      continue;
    }
    std::vector<std::string>& given = line.given[std::string(option->name)];
    if (!is_list) given.clear();
    given.insert(given.end(), texts.begin(), texts.end());
  }

  std::size_t taken = 0;
  for (const BoundOption& option : options) {
    if (!option.traits.positional || taken == positionals.size() || line.given.contains(std::string(option.name))) {
      continue;
    }
    const std::size_t end = option.kind == OptionKind::list ? positionals.size() : taken + 1;
    line.given[std::string(option.name)].assign(positionals.begin() + static_cast<std::ptrdiff_t>(taken),
                                                positionals.begin() + static_cast<std::ptrdiff_t>(end));
    taken = end;
  }
  if (taken < positionals.size()) {
    throw UserError(program + ": unexpected \"" + positionals[taken] + "\"",
                    "`" + program + " --help` shows how it is called");
  }
  return line;
}

const Command& find_command(const std::vector<Command>& commands, const std::string& name) {
  const auto found = std::ranges::find(commands, name, &Command::name);
  if (found != commands.end()) return *found;
  std::vector<std::string_view> names = {"config"};
  for (const Command& command : commands) names.push_back(command.name);
  const std::string_view nearest = nearest_name(name, names);
  throw UserError("attend " + name + ": no such command", nearest.empty()
                                                              ? "`attend --help` lists the commands"
                                                              : "did you mean attend " + std::string(nearest) + "?");
}

// The command that runs, for the message when memory runs out.
struct Running {
  std::string program = "attend";
  std::vector<std::string> memory_flags;
};

void run_words(const std::vector<Command>& commands, std::vector<std::string> words, Running& running) {
  const auto take = [&] {
    std::string word = words.front();
    words.erase(words.begin());
    return word;
  };
  if (words.empty()) throw UserError("no command given", "`attend --help` lists the commands");
  if (words[0] == "--help" || words[0] == "-h") {
    std::cout << program_help(commands);
    return;
  }
  if (words[0] == "--version") {
    std::cout << "attend " << version() << "\n";
    return;
  }
  const bool print_config = words[0] == "config";
  if (print_config) {
    take();
    if (words.empty()) throw UserError("attend config: no command given", "such as `attend config train`");
    if (words[0] == "--markdown") {
      std::cout << options_markdown(commands);
      return;
    }
    if (words[0] == "--help" || words[0] == "-h") {
      std::cout << "Usage: attend config COMMAND [options of the command]   print them as a TOML file for --config\n"
                   "       attend config --markdown                        print docs/options.md\n";
      return;
    }
  }
  const Command& command = find_command(commands, take());
  running.program += " " + command.name;
  Invocation invocation = command.prepare();
  for (const std::string_view name : kMemoryOptions) {
    if (find_option(invocation.options, name)) running.memory_flags.push_back("--" + std::string(name));
  }

  const ParsedLine line = parse_line(running.program, invocation.options, words);
  if (line.help) {
    std::cout << command_help(command);
    return;
  }
  log::set_quiet(line.quiet);
  for (const std::string& file : line.config_files) apply_toml_file(invocation.options, file, invocation.origins);
  for (const auto& [name, texts] : line.given) apply_words(invocation.options, name, texts, invocation.origins);
  invocation.validate(invocation.origins);
  if (print_config) {
    std::cout << to_toml(invocation.options);
    return;
  }
  check_required(invocation.options, running.program);
  invocation.run(invocation.origins);
}

void complain(const std::string& message, const std::string& remedy) {
  log::error("{}{}{}", message, remedy.empty() ? "" : "\n  ", remedy);
}

int complain_of_memory(const Running& running) {
  std::string remedy;
  for (const std::string& flag : running.memory_flags) remedy += (remedy.empty() ? "lower " : " or ") + flag;
  complain(running.program + ": not enough memory",
           remedy.empty() ? "free some memory or take a smaller input" : remedy);
  return kExitUserMistake;
}

}  // namespace

int run_program(const std::vector<Command>& commands, const std::vector<std::string>& words) {
  Running running;
  try {
    run_words(commands, words, running);
    if (!std::cout.flush()) throw UserError("standard output cannot be written", "is its disk full?");
    return kExitDone;
  } catch (const UserError& error) {
    complain(error.what(), error.remedy());
    return kExitUserMistake;
  } catch (const Interrupted& interruption) {
    log::info("{}", interruption.what());
    return kExitInterrupted;
  } catch (const std::bad_alloc&) {
    return complain_of_memory(running);
  } catch (const std::exception& error) {
    // LibTorch says so in words; what follows its first line is a backtrace.
    const std::string message = first_line(error.what());
    if (message.find("can't allocate memory") != std::string::npos ||
        message.find("out of memory") != std::string::npos) {
      return complain_of_memory(running);
    }
    complain(running.program + ": " + message, "this is a fault of attend: please report it with the command line");
    return kExitOurFailure;
  }
}

}  // namespace attend
