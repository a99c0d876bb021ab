// The text of --help and of docs/options.md, generated from the options of the commands.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace attend {

std::string program_help(const std::vector<Command>& commands);
std::string command_help(const Command& command);

// The text of docs/options.md.
std::string options_markdown(const std::vector<Command>& commands);

}  // namespace attend
