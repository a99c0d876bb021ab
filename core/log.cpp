// The log on spdlog, whose sink still reacts to signals while a pipe is full.
#include "core/log.hpp"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <memory>
#include <mutex>

#include "core/output.hpp"

namespace attend::log {
namespace {

class StandardError : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    output::write(STDERR_FILENO, {text.data(), text.size()});  // a failure cannot be reported anywhere
  }
  void flush_() override {}
};

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = std::make_shared<spdlog::logger>("attend", std::make_shared<StandardError>());
    made->set_pattern("%v");
    return made;
  }();
  return *instance;
}

std::string& speaker() {
  static std::string name;
  return name;
}

// `word` in the terminal's colour number `colour`; plain elsewhere.
std::string coloured(const char* word, int colour) {
  return is_terminal() ? fmt::format("\033[{}m{}\033[0m", colour, word) : word;
}

// Messages quote files, so control characters (also U+0080 to U+009F), which a terminal would interpret, are escaped.
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

void speak_as(const std::string& name) {
  speaker() = name + ": ";
  logger().set_level(spdlog::level::err);
}

void say_info(const std::string& message) { logger().info(harmless(message)); }
void say_notice(const std::string& message) { logger().error(speaker() + harmless(message)); }
void say_warning(const std::string& message) { logger().warn(coloured("warning: ", 33) + harmless(message)); }
void say_error(const std::string& message) {
  logger().error("attend: " + coloured("error: ", 31) + speaker() + harmless(message));
}

}  // namespace attend::log
