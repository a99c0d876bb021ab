#include "train/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "core/log.hpp"
#include "core/output.hpp"

namespace attend {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(250);

std::string describe(const ProgressReport& report) {
  const std::string perplexity = report.has_perplexity ? fmt::format("  ppl {:.2f}", std::exp(report.loss)) : "";
  return fmt::format("step {}/{}  epoch {}  loss {:.3f}{}  {:.0f} tok/s  lr {:.2e}  left {}", report.step,
                     report.max_steps, report.epoch, report.loss, perplexity, report.tokens_per_second,
                     report.learning_rate, format_seconds(report.seconds_left));
}

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::string format_seconds(double seconds) {
  const auto all = static_cast<std::int64_t>(std::max(seconds, 0.0) + 0.5);
  const std::int64_t hours = all / 3600, minutes = all / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, all % 60)
                   : fmt::format("{}:{:02}", minutes, all % 60);
}

Progress::Progress() : has_bar_(log::is_terminal() && !log::is_quiet()) {}

Progress::~Progress() { clear(); }

bool Progress::wants_update() const { return has_bar_ && std::chrono::steady_clock::now() - last_ >= kRedraw; }

void Progress::update(const ProgressReport& report) {
  last_ = std::chrono::steady_clock::now();
  const std::string text = describe(report);
  const std::size_t width = terminal_width();
  std::string line;
  if (text.size() + 14 < width) {  // a bar of ten characters or more
    const std::size_t room = std::min<std::size_t>(width - text.size() - 4, 40);
    const double share =
        static_cast<double>(report.step) / static_cast<double>(std::max<std::int64_t>(report.max_steps, 1));
    const auto filled = static_cast<int>(std::clamp(share, 0.0, 1.0) * static_cast<double>(room));
    line = fmt::format("[{:=<{}}{:{}}] ", "", filled, "", static_cast<int>(room) - filled);
  }
  line += text;
  line.resize(std::min(line.size(), width - 1));
  output::write(STDERR_FILENO, "\r\x1b[2K" + line);
  drawn_ = true;
}

void Progress::interval(const ProgressReport& report) {
  if (!has_bar_) log::info("{}", describe(report));
}

void Progress::clear() {
  if (!drawn_) return;
  output::write(STDERR_FILENO, "\r\x1b[2K");
  drawn_ = false;
}

}  // namespace attend
