// The frame around every command: reading the command line, exit codes and messages.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace attend {

// Runs the command given by the words after the program's name and returns the exit code; never throws.
int run_program(const std::vector<Command>& commands, const std::vector<std::string>& words);

}  // namespace attend
