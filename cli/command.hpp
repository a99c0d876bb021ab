// A subcommand of attend: its name, one line of help, its option struct and its function (docs/extending.md says how to
// add one).
//
// The frame handles, for every command: --config FILE (repeatable), --quiet, --help, positionals, unknown and required
// options, `config.validate(origins)` if the struct has such a method (for constraints between options; it throws
// UserError(origins("beam") + ": ...")), `config.set_defaults(origins)` if it has that (for options that were not given
// and whose defaults follow from other options), and exit codes. The function may throw UserError and Interrupted.
// --config and --quiet are not options of a config struct.
#pragma once

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
  std::function<void(const OptionOrigins&)> validate;
  std::function<void(const OptionOrigins&)> run;
};

struct Command {
  std::string name;
  std::string help;
  std::function<Invocation()> prepare;  // a call with default values
};

template <class Config>
Command make_command(std::string name, std::string help, void (*run)(const Config&, const OptionOrigins&)) {
  return {std::move(name), std::move(help), [run] {
            const auto config = std::make_shared<Config>();
            return Invocation{.options = bind(*config),
                              .origins = {},
                              .set_defaults =
                                  [config](const OptionOrigins& origins) {
                                    if constexpr (requires { config->set_defaults(origins); }) {
                                      config->set_defaults(origins);
                                    }
                                  },
                              .validate =
                                  [config](const OptionOrigins& origins) {
                                    if constexpr (requires { config->validate(origins); }) config->validate(origins);
                                  },
                              .run = [config, run](const OptionOrigins& origins) { run(*config, origins); }};
          }};
}

// All commands, in the order of --help (commands.cpp).
std::vector<Command> all_commands();

}  // namespace attend
