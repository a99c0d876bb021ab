// The progress of work: a line that is redrawn on a terminal, a plain line at intervals elsewhere, nothing with
// --quiet.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace attend {

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

  void add(std::int64_t count = 1);
  std::int64_t done() const { return done_; }

  // Removes the line, before other output.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  WorkSize size_;
  Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  ProgressLine line_;
  Clock::time_point last_interval_ = start_;
  std::int64_t done_ = 0;
};

// The text of the line, without the bar.
std::string describe(const WorkSize& size, std::int64_t done, double seconds);

// 95 as "1:35", 7260 as "2:01:00".
std::string format_seconds(double seconds);

}  // namespace attend
