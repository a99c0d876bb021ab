#include "cli/shell.hpp"

#include <algorithm>
#include <cctype>

#include "core/error.hpp"

namespace attend {
namespace {

constexpr std::string_view kUsage =
    "Usage: attend completion bash > ~/.local/share/bash-completion/completions/attend\n"
    "       attend completion zsh > DIR/_attend                  a folder of $fpath\n"
    "       attend completion fish > ~/.config/fish/completions/attend.fish\n";

// A flag and what may follow it.
struct Completion {
  std::string flag;  // without dashes
  std::string help = {};
  std::vector<std::string> values = {};  // some of those possible
  bool files = false, directories = false;
  int most = 1;  // of them; 2: any number
  bool positional = false;
};

Completion completion_of(const BoundOption& option) {
  Completion completion{.flag = std::string(option.name), .help = std::string(option.traits.help)};
  const std::string_view placeholder = option.traits.placeholder;
  completion.positional = option.traits.positional;
  const bool is_flag = option.kind == OptionKind::flag;
  completion.most = option.kind == OptionKind::list ? 2 : is_flag && !option.may_be_auto ? 0 : 1;
  if (is_flag && option.may_be_auto) completion.values = {"true", "false"};
  for (const std::string_view choice : option.choices) completion.values.emplace_back(choice);
  if (option.may_be_auto) completion.values.emplace_back("auto");
  completion.files = option.traits.file != FileUse::none;
  completion.directories = placeholder == "DIR" || placeholder == "RUN";
  // auto|never|PATH: words in lower case, or a path.
  for (std::size_t begin = 0; begin < placeholder.size();) {
    const std::size_t end = std::min(placeholder.find('|', begin), placeholder.size());
    const std::string part(placeholder.substr(begin, end - begin));
    begin = end + 1;
    const bool is_word = std::ranges::all_of(part, [](unsigned char c) { return std::islower(c) != 0; });
    if (is_word) completion.values.push_back(part);
    if (part == "PATH" || part == "FILE") completion.files = true;
  }
  return completion;
}

// The flags of a command, those that switch something off among them.
std::vector<Completion> completions_of(const Command& command) {
  std::vector<Completion> completions;
  const Invocation call = command.prepare();
  for (const BoundOption& option : call.options) {
    completions.push_back(completion_of(option));
    if (option.kind == OptionKind::flag && option.get() == OptionValue(true)) {
      completions.push_back(completions.back());
      completions.back().flag = "no-" + completions.back().flag;
    }
  }
  completions.push_back({.flag = "config", .help = "options from a TOML file", .files = true});
  completions.push_back({.flag = "quiet", .help = "warnings and errors only", .most = 0});
  completions.push_back({.flag = "help", .help = "list the options", .values = {"all"}});
  return completions;
}

// A backslash before each of `special`.
std::string escaped(std::string_view text, std::string_view special) {
  std::string word;
  for (const char c : text) word += (special.find(c) == special.npos ? "" : "\\") + std::string(1, c);
  return word;
}

// A word of each of these shells.
std::string in_quotes(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

std::string shell_word(const std::string& word) {
  const auto is_plain = [](unsigned char c) {
    return c >= 0x80 || std::isalnum(c) != 0 ||
           std::string_view("-_./:=+,@%").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  return in_quotes(word);
}

std::string shell_words(const OptionValue& value) {
  const auto* list = std::get_if<std::vector<std::string>>(&value);
  if (list == nullptr) return " " + shell_word(text_of(value));
  std::string text;
  for (const std::string& word : *list) text += " " + shell_word(word);
  return text;
}

std::string names_of(const std::vector<Command>& commands) {
  std::vector<std::string> names(commands.size());
  std::ranges::transform(commands, names.begin(), &Command::name);
  return text_of(names);
}

// A case of the values of each flag: those possible, then :files or :directories, and how many there may be.
std::string bash_script(const std::vector<Command>& commands) {
  std::string cases;
  for (const Command& command : commands) {
    std::string flags, values, positional;
    for (const Completion& completion : completions_of(command)) {
      flags += (flags.empty() ? "--" : " --") + completion.flag;
      const std::string offers = text_of(completion.values) + (completion.files ? ":files" : "") +
                                 (completion.directories ? ":directories" : "");
      if (completion.positional && positional.empty()) positional = offers;
      if (completion.most == 1 && offers.empty()) continue;
      values += "        --" + completion.flag + ") most=" + std::to_string(completion.most) + " offers='" + offers +
                "' ;;\n";
    }
    cases += "    " + command.name + ")\n      flags='" + flags + "' first='" + positional +
             "'\n      case $flag in\n" + values + "      esac ;;\n";
  }
  return R"(# bash completion of attend, written by `attend completion bash`
_attend() {
  local word=${COMP_WORDS[COMP_CWORD]} at=1 flag= given=0 most=1 offers= flags= first= i
  COMPREPLY=()
  [[ $word == = ]] && word=
  [[ ${COMP_WORDS[1]} == help || ${COMP_WORDS[1]} == config ]] && ((COMP_CWORD > 1)) && at=2
  if ((COMP_CWORD == at)); then
    offers=')" +
         names_of(commands) + R"('
    ((at == 1)) && offers+=' config completion help --help --version --quiet'
    mapfile -t COMPREPLY < <(compgen -W "$offers" -- "$word")
    return
  fi
  for ((i = at + 1; i < COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in
      --*) flag=${COMP_WORDS[i]} given=0 ;;
      =) ;;
      *) given=$((given + 1)) ;;
    esac
  done
  case ${COMP_WORDS[at]} in
    completion) first='bash zsh fish' ;;
)" + cases +
         R"(  esac
  [[ -z $flag ]] || ((most < 2 && given >= most)) && offers=$first
  [[ $word == -* ]] && offers=$flags
  mapfile -t COMPREPLY < <(
    compgen -W "${offers%%:*}" -- "$word"
    [[ $offers == *:files* ]] && compgen -f -- "$word"
    [[ $offers == *:directories* ]] && compgen -d -- "$word")
  [[ $offers == *:* ]] && compopt -o filenames 2> /dev/null
  return 0
}
complete -F _attend attend
)";
}

std::string zsh_script(const std::vector<Command>& commands) {
  std::string named, cases;
  for (const Command& command : commands) {
    named += "    " + in_quotes(command.name + ":" + escaped(command.help, ":\\")) + "\n";
    std::string specs;
    for (const Completion& completion : completions_of(command)) {
      const bool takes_many = completion.most == 2;
      const std::string values = "(" + text_of(completion.values) + ")";
      const std::string action = completion.directories      ? "_files -/"
                                 : !completion.files         ? values
                                 : completion.values.empty() ? "_files"
                                                             : "{ compadd " + text_of(completion.values) + "; _files }";
      const std::string value = completion.most == 0 ? "" : (takes_many ? ":*-*:value:" : ":value:") + action;
      specs += " \\\n        " + in_quotes("*--" + completion.flag + (value.empty() ? "[" : "=[") +
                                           escaped(completion.help, "[]:\\") + "]" + value);
      if (completion.positional) specs += " " + in_quotes((takes_many ? "*:value:" : ":value:") + action);
    }
    cases += "    " + command.name + ") _arguments" + specs + " ;;\n";
  }
  return R"(#compdef attend
# zsh completion of attend, written by `attend completion zsh`
_attend() {
  local -a commands=(
)" + named +
         R"(  )
  if [[ $words[2] == (help|config) ]] && (( CURRENT > 2 )); then
    shift words
    (( CURRENT-- ))
  elif (( CURRENT == 2 )); then
    commands+=(config:'print options' completion:'print completions' help:'print help')
  fi
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
    completion) _values shell bash zsh fish ;;
)" + cases +
         R"(  esac
}
_attend "$@"
)";
}

std::string fish_script(const std::vector<Command>& commands) {
  std::string text =
      "# fish completion of attend, written by `attend completion fish`\n"
      "complete -c attend -n __fish_use_subcommand -f\n"
      "complete -c attend -n __fish_use_subcommand -a 'config completion help'\n"
      "complete -c attend -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n"
      "complete -c attend -n '__fish_seen_subcommand_from help config' -a " +
      in_quotes(names_of(commands)) + "\n";
  for (const Command& command : commands) {
    const std::string line = "complete -c attend -n ";
    text += line + "__fish_use_subcommand -a " + command.name + " -d " + in_quotes(escaped(command.help, "\\")) + "\n";
    const std::string here = line + in_quotes("__fish_seen_subcommand_from " + command.name);
    for (const Completion& completion : completions_of(command)) {
      std::string values = text_of(completion.values);
      if (completion.directories) values += " (__fish_complete_directories)";
      const std::string offers =
          (completion.files ? " -F" : "") + (values.empty() ? std::string() : " -a " + in_quotes(values));
      const std::string takes = completion.most == 0 ? "" : completion.files ? " -r" : " -x";
      text +=
          here + " -l " + completion.flag + takes + offers + " -d " + in_quotes(escaped(completion.help, "\\")) + "\n";
      if (completion.positional) text += here + offers + "\n";
    }
  }
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

std::string completion_script(const std::vector<Command>& commands, const std::vector<std::string>& words) {
  const std::string shell = words.size() == 1 ? words[0] : "";
  if (shell == "bash") return bash_script(commands);
  if (shell == "zsh") return zsh_script(commands);
  if (shell == "fish") return fish_script(commands);
  if (shell == "--help" || shell == "-h") return std::string(kUsage);
  throw UserError("attend completion: expected bash, zsh or fish", "`attend completion --help` shows where it belongs");
}

}  // namespace attend
