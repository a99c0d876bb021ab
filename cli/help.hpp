// The text of --help, of manual pages and of docs/options.md, generated from the options of the commands.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace attend {

std::string program_help(const std::vector<Command>& commands);

// The options of one call: those that most people set, or where `words` are "all", all. Options that were given add
// those that belong to them and take out those that they exclude: after --model luong, --scope is there and --heads is
// not. Other words: the options with all of them.
std::string command_help(const Command& command, const Invocation& call, const std::vector<std::string>& words);

// The options with all these words in their name, help or values, each once with the commands that have it. Throws
// UserError if there is none.
std::string options_about(const std::vector<Command>& commands, const std::vector<std::string>& words);

// The manual page of the command, or of the program if it is null, in roff.
std::string manual_page(const std::vector<Command>& commands, const Command* command);

// The text of docs/options.md.
std::string options_markdown(const std::vector<Command>& commands);

}  // namespace attend
