#include "core/log.hpp"

#include <limits.h>
#include <poll.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <streambuf>
#include <system_error>

#include "core/error.hpp"
#include "core/process.hpp"
#include "core/text.hpp"

namespace attend::output {
namespace {

constexpr int kPollMilliseconds = 200;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

class StandardOutput : public std::streambuf {
 public:
  StandardOutput() { clear(); }

 protected:
  int_type overflow(int_type character) override {
    flush();
    if (!traits_type::eq_int_type(character, traits_type::eof())) sputc(traits_type::to_char_type(character));
    return traits_type::not_eof(character);
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    const std::streamsize written = std::streambuf::xsputn(text, size);
    if (terminal_ && std::string_view(text, size).find('\n') != std::string_view::npos) flush();
    return written;
  }
  int sync() override {
    flush();
    return 0;
  }

 private:
  void clear() { setp(buffer_.data(), buffer_.data() + buffer_.size()); }
  void flush() {
    const std::string_view text(pbase(), pptr() - pbase());
    clear();  // text that failed is not written again
    const Written written = write(STDOUT_FILENO, text);
    if (written == Written::interrupted) throw Interrupted("interrupted while standard output was not being read");
    if (written == Written::all) return;
    throw UserError("standard output cannot be written: " + std::generic_category().message(errno),
                    "check that its disk has space and that it is open for writing");
  }

  const bool terminal_ = isatty(STDOUT_FILENO) == 1;
  std::array<char, 1 << 16> buffer_;
};

}  // namespace

Written write(int descriptor, std::string_view text) {
  struct stat status {};
  const bool is_file = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  while (!text.empty()) {
    if (!is_file) {
      pollfd room{.fd = descriptor, .events = POLLOUT, .revents = 0};
      const int ready = poll(&room, 1, kPollMilliseconds);
      if (ready == 0 || (ready < 0 && errno == EINTR)) {
        if (signals::stop_requested()) return Written::interrupted;
        continue;
      }
    }
    // A pipe that is ready has room for PIPE_BUF bytes.
    const ssize_t written =
        ::write(descriptor, text.data(), is_file ? text.size() : std::min<std::size_t>(text.size(), PIPE_BUF));
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written < 0) return Written::failed;
    text.remove_prefix(written);
  }
  return Written::all;
}

Colours colours() {
  const std::string_view terminal = environment("TERM"), depth = environment("COLORTERM");
  if (isatty(STDOUT_FILENO) != 1 || !environment("NO_COLOR").empty() || terminal == "dumb") return Colours::none;
  if (depth == "truecolor" || depth == "24bit") return Colours::of_24_bits;
  return terminal.find("256color") != std::string_view::npos ? Colours::of_256 : Colours::none;
}

std::size_t columns(int descriptor) {
  constexpr std::size_t kUsual = 80;
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

void replace_cout() {
  static auto* output = new StandardOutput;  // outlives the last flush, which may come after main
  std::cout.rdbuf(output);
  std::cout.exceptions(std::ios::badbit);  // rethrows the exceptions of the buffer
}

}  // namespace attend::output

namespace attend::log {

// The log on spdlog, whose sink still reacts to signals while a pipe is full.

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

namespace attend {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(250);
constexpr auto kInterval = std::chrono::minutes(1);  // of work that is not shown on a terminal

}  // namespace

std::string format_seconds(double seconds) {
  const auto all = static_cast<std::int64_t>(std::max(seconds, 0.0) + 0.5);
  const std::int64_t hours = all / 3600, minutes = all / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, all % 60)
                   : fmt::format("{}:{:02}", minutes, all % 60);
}

ProgressLine::ProgressLine() : has_bar_(log::is_terminal() && !log::is_quiet()) {}

ProgressLine::~ProgressLine() { clear(); }

bool ProgressLine::wants_redraw() const { return has_bar_ && std::chrono::steady_clock::now() - last_ >= kRedraw; }

void ProgressLine::redraw(std::optional<double> fraction, const std::string& text) {
  last_ = std::chrono::steady_clock::now();
  const std::size_t width = output::columns(STDERR_FILENO);
  std::string line;
  if (fraction && text.size() + 14 < width) {  // a bar of ten characters or more
    const std::size_t room = std::min<std::size_t>(width - text.size() - 4, 40);
    const auto filled = static_cast<int>(std::clamp(*fraction, 0.0, 1.0) * static_cast<double>(room));
    line = fmt::format("[{:=<{}}{:{}}] ", "", filled, "", static_cast<int>(room) - filled);
  }
  line += text;
  line.resize(std::min(line.size(), width - 1));
  output::write(STDERR_FILENO, "\r\x1b[2K" + line);
  drawn_ = true;
}

void ProgressLine::interval(const std::string& text) {
  if (!has_bar_) log::info("{}", text);
}

void ProgressLine::clear() {
  if (!drawn_) return;
  output::write(STDERR_FILENO, "\r\x1b[2K");
  drawn_ = false;
}

WorkProgress::WorkProgress(WorkSize size) : size_(std::move(size)) {}

void WorkProgress::add_share(double share) {
  const std::scoped_lock lock(mutex_);
  done_ += share;
  if (!size_.is_shown) return;
  const auto now = Clock::now();
  const auto text = [&] { return describe(size_, done_, std::chrono::duration<double>(now - start_).count()); };
  if (line_.wants_redraw()) {
    std::optional<double> fraction;
    if (size_.total) fraction = done_ / static_cast<double>(std::max<std::int64_t>(*size_.total, 1));
    line_.redraw(fraction, text());
  }
  if (now - last_interval_ < kInterval) return;
  last_interval_ = now;
  line_.interval(text());
}

void WorkProgress::clear() {
  const std::scoped_lock lock(mutex_);
  line_.clear();
}

std::string describe(const WorkSize& size, double done, double seconds) {
  constexpr double kRounding = 1e-6;                    // of the shares of a part, whose sum may be just below 1
  const bool begun = done > 0 && done + kRounding < 1;  // the first part is not done
  const std::string count = begun ? fmt::format("{:.2f}", done) : fixed(static_cast<std::int64_t>(done + kRounding));
  std::string text = fmt::format("{} {}{}", size.unit, count, size.total ? "/" + fixed(*size.total) : "");
  if (done == 0) return text;
  const double rate = done / std::max(seconds, 1e-9);
  text += fmt::format("  {} {}/s", rate < 10 ? fmt::format("{:.2g}", rate) : fixed(rate, 0), size.unit);
  if (!size.total) return text;
  const double left = std::max(static_cast<double>(*size.total) - done, 0.0);
  return text + "  left " + format_seconds(left / rate);
}

}  // namespace attend
