// The table of all commands.
#pragma once

#include <vector>

#include "cli/command.hpp"

namespace attend {

// In the order of --help, from text to translation.
std::vector<Command> all_commands();

}  // namespace attend
