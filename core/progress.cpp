#include "core/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/log.hpp"
#include "core/number.hpp"
#include "core/output.hpp"

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

void WorkProgress::add(std::int64_t count) {
  const std::scoped_lock lock(mutex_);
  done_ += count;
  if (!size_.is_shown) return;
  const auto now = Clock::now();
  const auto text = [&] { return describe(size_, done_, std::chrono::duration<double>(now - start_).count()); };
  if (line_.wants_redraw()) {
    std::optional<double> fraction;
    if (size_.total)
      fraction = static_cast<double>(done_) / static_cast<double>(std::max<std::int64_t>(*size_.total, 1));
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

std::string describe(const WorkSize& size, std::int64_t done, double seconds) {
  std::string text = fmt::format("{} {}{}", size.unit, fixed(done), size.total ? "/" + fixed(*size.total) : "");
  if (done == 0) return text;
  const double rate = static_cast<double>(done) / std::max(seconds, 1e-9);
  text += fmt::format("  {} {}/s", rate < 10 ? fmt::format("{:.2g}", rate) : fixed(rate, 0), size.unit);
  if (!size.total) return text;
  const auto left = static_cast<double>(std::max<std::int64_t>(*size.total - done, 0));
  return text + "  left " + format_seconds(left / rate);
}

}  // namespace attend
