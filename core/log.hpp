// What the running program says: messages, progress, and the streams that they are written to.
#pragma once

#include <spdlog/fmt/fmt.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace attend::output {

// Standard output and standard error, which may be pipes that nobody reads at the moment: a write blocks until there is
// room or a signal requests a stop (core/process.hpp).

enum class Written { all, interrupted, failed };  // failed: errno has the reason

// Writes all of `text`; `interrupted` if the pipe was full when a signal requested a stop.
Written write(int descriptor, std::string_view text);

// The colours supported by standard output: none unless it is a terminal, or if NO_COLOR is set (no-color.org).
enum class Colours { none, of_256, of_24_bits };
Colours colours();

// The width of the terminal on a descriptor; 80 if it is not a terminal.
std::size_t columns(int descriptor);

// From now on std::cout writes through write(): it throws UserError on failure and Interrupted when interrupted. On a
// terminal each line appears at once.
void replace_cout();

}  // namespace attend::output

namespace attend::log {

// Messages of the running program, one plain line each, on stderr. Results are not messages: they go to stdout.
//
//   log::info("{} sentences, {} skipped", read, skipped);

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

namespace attend {

// The progress of work: a line that is redrawn on a terminal, a plain line at intervals elsewhere, nothing with
// --quiet.

// The line, such as [=====     ] and a text.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();

  // True if the line may be redrawn now: only on a terminal, a few times a second.
  bool wants_redraw() const;
  // Without a `fraction` (0 to 1) there is no bar.
  void redraw(std::optional<double> fraction, const std::string& text);

  // Ends an interval: logs a line unless the progress is on a terminal.
  void interval(const std::string& text);

  // Removes the line, before other output.
  void clear();

 private:
  bool has_bar_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_;
};

struct WorkSize {
  std::string unit = "lines";
  std::optional<std::int64_t> total = {};
  bool is_shown = true;
};

// Work in many equal parts, such as lines to translate. Threads may call add() together.
//
//   WorkProgress progress({.unit = "lines", .total = 1000});
//   progress.add(32);   // [=    ] lines 32/1000  51.3 lines/s  left 0:19
class WorkProgress {
 public:
  explicit WorkProgress(WorkSize size);

  void add(std::int64_t count = 1) { add_share(static_cast<double>(count)); }
  // A share of one part, such as a piece of a long line.
  void add_share(double share);
  double done() const { return done_; }

  // Removes the line, before other output.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  WorkSize size_;
  Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  ProgressLine line_;
  Clock::time_point last_interval_ = start_;
  double done_ = 0;
};

// The text of the line, without the bar.
std::string describe(const WorkSize& size, double done, double seconds);

// 95 as "1:35", 7260 as "2:01:00".
std::string format_seconds(double seconds);

}  // namespace attend
