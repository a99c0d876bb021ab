// What a shell needs to complete a command line of attend: commands, options, the values of enumerations, files and run
// directories, generated from the options of the commands.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace attend {

// The script for the shell that `words` name: bash, zsh or fish. With --help, how to use it. Throws UserError for
// others.
std::string completion_script(const std::vector<Command>& commands, const std::vector<std::string>& words);

}  // namespace attend
