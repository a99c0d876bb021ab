// Messages of the running program, one plain line each, on stderr. Results are not messages: they go to stdout.
//
//   log::info("{} sentences, {} skipped", read, skipped);
#pragma once

#include <spdlog/fmt/fmt.h>

#include <string>
#include <utility>

namespace attend::log {

// True if stderr is a terminal, where progress may be redrawn and coloured.
bool is_terminal();

// Silences info; warnings and errors still appear.
void set_quiet(bool quiet);
bool is_quiet();

// From now on, prints only errors and notices, prefixed with `name`: for every process but the first.
void speak_as(const std::string& name);

void say_info(const std::string& message);
void say_notice(const std::string& message);
void say_warning(const std::string& message);
void say_error(const std::string& message);

template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  say_info(fmt::format(format, std::forward<Args>(args)...));
}

// Explains a wait; printed by every process, even with --quiet.
template <class... Args>
void notice(fmt::format_string<Args...> format, Args&&... args) {
  say_notice(fmt::format(format, std::forward<Args>(args)...));
}

// Printed as "warning: ...", in yellow on a terminal.
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  say_warning(fmt::format(format, std::forward<Args>(args)...));
}

// Printed as "attend: error: ...", in red on a terminal.
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  say_error(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace attend::log
