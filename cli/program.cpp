// The frame around every command: reading the command line, exit codes and messages.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <new>
#include <optional>
#include <utility>

#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/shell.hpp"
#include "core/conditions.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/log.hpp"
#include "core/process.hpp"

namespace attend {
namespace {

// The options to lower when memory runs out, if a command has them.
constexpr std::array<std::string_view, 4> kMemoryOptions = {"max-tokens", "batch-size", "beam", "workers"};

// The words that a list takes, at most.
constexpr int kMostWords = 1'000'000;

// The options of every command besides --config and --help.
struct FrameOptions {
  bool quiet = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("quiet", self.quiet, {.help = "print only warnings and errors"});
  }
};

[[noreturn]] void refuse_flag(const std::vector<Command>& commands, const std::string& program,
                              const BoundOptions& options, const std::string& flag) {
  const std::string name = flag.substr(flag.starts_with("--") ? 2 : 1);
  std::string remedy, others;
  for (const Command& command : commands) {
    if (BoundOptions theirs = command.prepare().options; find_option(theirs, name))
      others += (others.empty() ? "" : ", ") + command.name;
  }
  std::vector<std::string_view> names = {"config", "help"};
  for (const BoundOption& option : options) names.push_back(option.name);
  if (!others.empty()) {
    remedy = "it is an option of attend " + others;
  } else if (const std::string_view nearest = nearest_name(name, names); !nearest.empty()) {
    remedy = "did you mean --" + std::string(nearest) + "?";
  } else {
    remedy = "`" + program + " --help` lists the options";
  }
  throw UserError(flag + ": no such option of " + program, remedy);
}

// A list takes all words up to the next option, also a run that was meant as a positional. Throws UserError for a list
// that contains a directory, if no run is given, or if there may be more of them and the list is one of files.
void refuse_taken_runs(const BoundOptions& options, const OptionOrigins& origins) {
  const auto runs =
      std::ranges::find(options, true, [](const BoundOption& option) { return option.traits.positional; });
  if (runs == options.end()) return;
  const bool missing = text_of(runs->get()).empty();
  for (const BoundOption& list : options) {
    if (list.kind != OptionKind::list || list.traits.positional || !origins.given(list.name)) continue;
    const bool has_files = list.traits.file != FileUse::none;
    if (!missing && (runs->kind != OptionKind::list || !has_files)) continue;
    const OptionValue value = list.get();
    const auto* const words = std::get_if<std::vector<std::string>>(&value);
    for (const std::string& word : words != nullptr ? *words : std::vector<std::string>()) {
      std::error_code ignored;
      if (!std::filesystem::is_directory(word, ignored)) continue;
      throw UserError(origins(list.name) + " has taken " + word, "write runs before options");
    }
  }
}

// The words in a form that CLI11 reads as intended: names have dashes, --no-flag and --flag false are --flag=false, and
// every value is prefixed by '=' (5 as =5, --slope=-1 as --slope==-1). Thus -.5, [a] and words after -- are values, and
// an empty value differs from a missing one.
std::vector<std::string> words_for_cli11(const BoundOptions& options, const std::vector<std::string>& words) {
  std::vector<std::string> marked;
  bool only_values = false;
  bool after_switch = false;  // then true or false may follow
  for (const std::string& word : words) {
    if (std::exchange(after_switch, false) && (word == "true" || word == "false")) {
      marked.back() += "==" + word;
      continue;
    }
    // A lone - and negative numbers are values.
    if (only_values || word.size() < 2 || word[0] != '-' || word[1] == '.' || (word[1] >= '0' && word[1] <= '9')) {
      marked.push_back("=" + word);
      continue;
    }
    only_values = word == "--";
    const std::size_t equals = word.find('=');
    const bool has_value = equals != std::string::npos;
    std::string flag = word.substr(0, equals);
    if (flag.starts_with("--")) std::ranges::replace(flag, '_', '-');
    const auto names = [&](std::string_view prefix, OptionKind kind) {
      const BoundOption* option = flag.starts_with(prefix) ? find_option(options, flag.substr(prefix.size())) : nullptr;
      return option && option->kind == kind;
    };
    after_switch = !has_value && names("--", OptionKind::flag);
    if (!has_value && names("--no-", OptionKind::flag)) flag = "--" + flag.substr(5) + "==false";
    marked.push_back(has_value ? flag + "=" + word.substr(equals) : flag);
    if (has_value && names("--", OptionKind::list)) marked.push_back("--");  // the list ends here
  }
  return marked;
}

// Sets the options from the words, which override the --config files; the words after --help, if it is there. The forms
// are --name VALUE, --name=VALUE, --list VALUE VALUE, --flag, --no-flag, and --flag true or false; other words, and all
// after --, are positionals, which fill their options in the order of declaration. The last of several values counts;
// lists collect all of them. Values are parsed in core/options only.
std::optional<std::vector<std::string>> apply_line(const std::vector<Command>& commands, const std::string& program,
                                                   const std::vector<std::string>& words, Invocation& call) {
  FrameOptions frame;
  BoundOptions options = call.options;
  std::ranges::move(bind(frame), std::back_inserter(options));
  OptionOrigins& origins = call.origins;
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  app.add_option("-h,--help")->expected(0, kMostWords)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--config")->expected(0, 1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  for (const BoundOption& option : options) {
    const bool is_switch = option.kind == OptionKind::flag && !option.may_be_auto;
    const int most_values = is_switch ? 0 : option.kind == OptionKind::list ? kMostWords : 1;  // TakeLast keeps as many
    app.add_option((option.name == "quiet" ? "-q,--" : "--") + std::string(option.name))
        ->expected(0, most_values)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
        ->default_str(is_switch ? "=true" : "");
  }
  std::vector<std::string> marked = words_for_cli11(options, words);
  std::ranges::reverse(marked);  // CLI11 takes them from the back
  app.parse(std::move(marked));

  const auto value = [&](const std::string& word) {
    if (word[0] != '=') refuse_flag(commands, program, options, word.substr(0, word.find('=')));
    return word.substr(1);
  };
  std::vector<std::string> positionals;
  for (const std::string& word : app.remaining()) {
    if (word != "--") positionals.push_back(value(word));
  }
  std::vector<OptionValue> defaults;
  for (const BoundOption& option : options) defaults.push_back(option.get());
  for (const std::string& word : app["--config"]->results()) {
    if (word.empty()) throw UserError("--config: found nothing, expected a TOML file");
    apply_toml_file(options, value(word), origins);
  }
  // A complete config file names all options; those with default values do not count as given.
  const OptionOrigins named = origins;
  std::vector<OptionValue> values;
  for (std::size_t i = 0; i < options.size(); ++i) {
    values.push_back(options[i].get());
    if (values[i] == defaults[i]) origins.forget(options[i].name);
  }
  call.set_defaults(origins);
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (options[i].get() == values[i] || !named.given(options[i].name)) continue;
    options[i].set(values[i]);  // set_defaults changed it, but the file names it
    origins.record(options[i].name, named(options[i].name));
  }
  auto next = positionals.begin();
  for (const BoundOption& option : options) {
    std::vector<std::string> texts;
    if (const CLI::Option* flag = app["--" + std::string(option.name)]; flag->count() > 0) {
      for (const std::string& word : flag->reduced_results()) {
        if (!word.empty()) texts.push_back(value(word));
      }
    } else if (option.traits.positional && next != positionals.end()) {
      const auto end = option.kind == OptionKind::list ? positionals.end() : next + 1;
      texts.assign(next, end);
      next = end;
    } else {
      continue;
    }
    apply_words(options, option.name, texts, origins);
  }
  if (next != positionals.end()) {
    const auto at = std::ranges::find(words, *next);
    const std::string before = at == words.begin() || at == words.end() ? "" : at[-1];
    const BoundOption* option = before.starts_with("--") ? find_option(options, before.substr(2)) : nullptr;
    if (option != nullptr && option->kind == OptionKind::flag) {
      throw UserError(before + ": found \"" + *next + "\", expected " + expected_of(*option));
    }
    throw UserError(program + ": unexpected \"" + *next + "\"", "`" + program + " --help` shows its usage");
  }
  call.set_defaults(origins);
  log::set_quiet(frame.quiet);
  if (app.count("--help") > 0) {
    std::vector<std::string> asked;
    for (const std::string& word : app["--help"]->results()) {
      if (!word.empty()) asked.push_back(value(word));
    }
    return asked;
  }
  refuse_taken_runs(options, origins);
  return std::nullopt;
}

const Command& find_command(const std::vector<Command>& commands, const std::string& name, bool of_config) {
  const auto found = std::ranges::find(commands, name, &Command::name);
  if (found != commands.end()) return *found;
  std::vector<std::string_view> names;
  if (!of_config) names.emplace_back("config");
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
  const bool is_quiet = !words.empty() && (words[0] == "-q" || words[0] == "--quiet");
  if (is_quiet) take();
  if (words.empty()) {
    throw UserError("no command given",
                    "`attend --help` lists the commands; `attend toy corpus` writes data to try them with");
  }
  if (words[0] == "--version" || words[0] == "-V") {
    std::cout << "attend " << version() << "\n";
    return;
  }
  if (words[0] == "help" || words[0] == "--help" || words[0] == "-h") {
    take();
    const bool is_command = !words.empty() && (words[0] == "config" || words[0] == "completion" ||
                                               std::ranges::find(commands, words[0], &Command::name) != commands.end());
    if (words.empty()) {
      std::cout << program_help(commands);
    } else if (words[0] == "--man") {
      std::cout << manual_page(commands, words.size() == 1 ? nullptr : &find_command(commands, words[1], true));
    } else if (!is_command) {
      std::cout << options_about(commands, words);
    }
    if (!is_command) return;
    words.insert(words.begin() + 1, "--help");  // `attend help train all` is `attend train --help all`
  }
  if (words[0] == "completion") {
    take();
    std::cout << completion_script(commands, words);
    return;
  }
  const bool print_config = words[0] == "config";
  if (print_config) {
    take();
    if (words.empty()) throw UserError("attend config: no command given", "name one, such as `attend config train`");
    if (words[0] == "--markdown") {
      std::cout << options_markdown(commands);
      return;
    }
    if (words[0] == "--help" || words[0] == "-h") {
      std::cout
          << "Usage: attend config COMMAND [options of the command]   print its options as a TOML file for --config\n"
             "       attend config --markdown                        print docs/options.md\n";
      return;
    }
  }
  const Command& command = find_command(commands, take(), print_config);
  if (is_quiet) words.insert(words.begin(), "--quiet");
  running.program += " " + command.name;
  Invocation invocation = command.prepare();
  for (const std::string_view name : kMemoryOptions) {
    if (find_option(invocation.options, name)) running.memory_flags.push_back("--" + std::string(name));
  }

  if (const auto asked = apply_line(commands, running.program, words, invocation)) {
    std::cout << command_help(command, invocation, *asked);
    return;
  }
  if (print_config) {
    std::cout << to_toml(invocation.options);  // missing required options are lines to fill in
    return;
  }
  // Training may adopt options, also required ones, from a run, and checks them after reading it.
  const BoundOption* resume = find_option(invocation.options, "resume");
  if (resume == nullptr || text_of(resume->get()) == "never") {
    check_required(invocation.options, running.program, "", command.example);
  }
  if (resume == nullptr) {
    const Facts facts = invocation.facts();
    refuse_inapplicable(invocation.options, texts_of(command.prepare().options), given_place(invocation.origins),
                        facts);
    check_files(invocation.options, invocation.origins, facts);
  }
  invocation.validate(invocation.origins);
  invocation.run(invocation.origins);
}

void complain(const std::string& message, const std::string& remedy) {
  log::error("{}{}{}", message, remedy.empty() ? "" : "\n  ", remedy);
}

int complain_of_memory(const Running& running) {
  std::string remedy;
  for (const std::string& flag : running.memory_flags) remedy += (remedy.empty() ? "lower " : " or ") + flag;
  complain(running.program + ": not enough memory",
           remedy.empty() ? "free some memory or use a smaller input" : remedy);
  return kExitUserMistake;
}

}  // namespace

int run_program(const std::vector<Command>& commands, const std::vector<std::string>& words) {
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding the limit on file sizes is then a write error
  Running running;
  try {
    run_words(commands, words, running);
    if (!std::cout.flush())
      throw UserError("standard output cannot be written",
                      "check that its disk is not full and its reader is still there");
    return kExitDone;
  } catch (const LostDirectory& error) {
    complain(error.what(), error.remedy());
    return kExitOurFailure;
  } catch (const UserError& error) {
    complain(error.what(), error.remedy());
    return kExitUserMistake;
  } catch (const Interrupted& interruption) {
    try {
      std::cout.flush();               // the results so far
    } catch (const std::exception&) {  // nobody reads them
    }
    if (const std::string_view what = interruption.what(); !what.empty()) log::info("{}", what);
    return kExitInterrupted;
  } catch (const std::filesystem::filesystem_error& error) {
    complain(running.program + ": " + error.path1().string() + ": " + error.code().message(), "check the path");
    return kExitUserMistake;
  } catch (const std::bad_alloc&) {
    return complain_of_memory(running);
  } catch (const std::exception& error) {
    // LibTorch reports a failed allocation in text; a backtrace follows the first line.
    std::string message = error.what();
    message.resize(std::min(message.find('\n'), message.size()));
    if (message.find("can't allocate memory") != std::string::npos ||
        message.find("out of memory") != std::string::npos) {
      return complain_of_memory(running);
    }
    complain(running.program + ": " + message, "this is a bug in attend: please report it with the command line");
    return kExitOurFailure;
  }
}

}  // namespace attend
