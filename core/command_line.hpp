// The command line that gives a config its values, quoted for a shell.
//
//   attend compare luong 'my run' --test test.en test.de --beam 2
#pragma once

#include <string>
#include <string_view>

#include "core/options.hpp"

namespace attend {

// "attend COMMAND", the positional values, then every other option that differs from its default.
std::string command_line(std::string_view command, const BoundOptions& options, const BoundOptions& defaults);

template <class Config>
std::string command_line(std::string_view command, const Config& config) {
  const Config defaults;
  return command_line(command, bind(config), bind(defaults));
}

}  // namespace attend
