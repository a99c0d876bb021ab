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

// Without what a terminal takes for a command (control characters, also those of U+0080 to U+009F), which may come out
// of files.
std::string harmless(const std::string& message) {
  std::string text;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const auto byte = static_cast<unsigned char>(message[i]);
    const auto next = static_cast<unsigned char>(i + 1 < message.size() ? message[i + 1] : 0);
    const bool high = byte == 0xC2 && next >= 0x80 && next <= 0x9F;
    const bool low = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
    if (low || high) {
      text += fmt::format("\\x{:02x}", high ? next : byte);
      i += high;
    } else {
      text += message[i];
    }
  }
  return text;
}

}  // namespace

bool is_terminal() { return isatty(STDERR_FILENO) == 1; }

void set_quiet(bool quiet) { logger().set_level(quiet ? spdlog::level::warn : spdlog::level::info); }
bool is_quiet() { return !logger().should_log(spdlog::level::info); }

void say_info(const std::string& message) { logger().info(harmless(message)); }
void say_warning(const std::string& message) { logger().warn(coloured("warning: ", 33) + harmless(message)); }
void say_error(const std::string& message) { logger().error("attend: " + coloured("error: ", 31) + harmless(message)); }

}  // namespace attend::log
