#include "core/output.hpp"

#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <streambuf>
#include <system_error>

#include "core/error.hpp"
#include "core/signals.hpp"

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
    if (terminal_ && std::string_view(text, static_cast<std::size_t>(size)).find('\n') != std::string_view::npos)
      flush();
    return written;
  }
  int sync() override {
    flush();
    return 0;
  }

 private:
  void clear() { setp(buffer_.data(), buffer_.data() + buffer_.size()); }
  void flush() {
    const std::string_view text(pbase(), static_cast<std::size_t>(pptr() - pbase()));
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
    text.remove_prefix(static_cast<std::size_t>(written));
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
