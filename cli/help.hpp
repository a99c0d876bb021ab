// The text of --help and docs/options.md, generated from the list of options.
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
