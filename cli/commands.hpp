// The table of all commands.
#pragma once

#include <vector>

#include "cli/command.hpp"

namespace attend {

// All commands, in the order of --help.
std::vector<Command> all_commands();

}  // namespace attend
