// The log on spdlog's thread-safe stderr sink.
#include "core/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

namespace attend::log {
namespace {

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = spdlog::stderr_logger_mt("attend");
    made->set_pattern("%v");
    return made;
  }();
  return *instance;
}

// `word` in the terminal's colour number `colour`; plain elsewhere.
std::string coloured(const char* word, int colour) {
  return is_terminal() ? fmt::format("\033[{}m{}\033[0m", colour, word) : word;
}

}  // namespace

bool is_terminal() { return isatty(STDERR_FILENO) == 1; }

void set_quiet(bool quiet) { logger().set_level(quiet ? spdlog::level::warn : spdlog::level::info); }
bool is_quiet() { return !logger().should_log(spdlog::level::info); }

void say_info(const std::string& message) { logger().info(message); }
void say_warning(const std::string& message) { logger().warn(coloured("warning: ", 33) + message); }
void say_error(const std::string& message) { logger().error("attend: " + coloured("error: ", 31) + message); }

}  // namespace attend::log
