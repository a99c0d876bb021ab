// A subcommand of attend: its name, one line of help, its option struct and its function (how to add one:
// docs/extending.md).
//
// The frame (program.cpp) handles --config FILE (repeatable), --quiet, --help, positionals, unknown and required
// options, options whose conditions fail, and exit codes for every command. If the struct has these methods, it calls
// config.set_defaults(origins), for options that were not given and whose defaults follow from others, config.facts(),
// the facts on which options depend, as far as they are known before the command runs, and config.validate(origins),
// for other constraints between options; the last throws UserError(origins("beam") + ": ..."). The function may throw
// UserError and Interrupted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/options.hpp"

namespace attend {

// One call of a command; `options` refer to a config that `validate` and `run` keep alive.
struct Invocation {
  BoundOptions options;
  OptionOrigins origins;
  std::function<void(const OptionOrigins&)> set_defaults;
  std::function<Facts()> facts;
  std::function<void(const OptionOrigins&)> validate;
  std::function<void(const OptionOrigins&)> run;
};

struct Command {
  std::string name;
  std::string help;
  std::function<Invocation()> prepare;  // a call with default values
  std::string example = {};             // what follows the name in a call to start from
};

template <class Config>
Command make_command(std::string name, std::string help, void (*run)(const Config&, const OptionOrigins&),
                     std::string example = {}) {
  return {std::move(name), std::move(help),
          [run] {
            const auto config = std::make_shared<Config>();
            return Invocation{.options = bind(*config),
                              .origins = {},
                              .set_defaults =
                                  [config](const OptionOrigins& origins) {
                                    if constexpr (requires { config->set_defaults(origins); }) {
                                      config->set_defaults(origins);
                                    }
                                  },
                              .facts =
                                  [config] {
                                    if constexpr (requires { config->facts(); }) return config->facts();
                                    return Facts();
                                  },
                              .validate =
                                  [config](const OptionOrigins& origins) {
                                    if constexpr (requires { config->validate(origins); }) config->validate(origins);
                                  },
                              .run = [config, run](const OptionOrigins& origins) { run(*config, origins); }};
          },
          std::move(example)};
}

// All commands, in the order of --help.
std::vector<Command> all_commands();

// For commands that stop where a signal requests it: installs the handlers, and computes with `threads` from now on.
void begin_work(std::int64_t threads);

// Runs the command given by the words after the program's name and returns the exit code; never throws.
int run_program(const std::vector<Command>& commands, const std::vector<std::string>& words);

}  // namespace attend
