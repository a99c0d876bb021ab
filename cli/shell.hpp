// What a shell reads: the command line of a call, and the completion of command lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "core/options.hpp"

namespace attend {

// The command line that gives a config its values, quoted for a shell: "attend COMMAND", the positional values, then
// every other option that differs from its default.
//
//   attend compare luong 'my run' --test test.en test.de --beam 2
std::string command_line(std::string_view command, const BoundOptions& options, const BoundOptions& defaults);

template <class Config>
std::string command_line(std::string_view command, const Config& config) {
  const Config defaults;
  return command_line(command, bind(config), bind(defaults));
}

// What a shell needs to complete a command line of attend: commands, options, the values of enumerations, files and run
// directories. The script for the shell that `words` name: bash, zsh or fish. With --help, how to use it. Throws
// UserError for others.
std::string completion_script(const std::vector<Command>& commands, const std::vector<std::string>& words);

}  // namespace attend
