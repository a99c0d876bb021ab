// The progress of a training: a bar that is redrawn on a terminal, one line per interval elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace attend {

// The state of a run.
struct ProgressReport {
  std::int64_t step = 0;
  std::int64_t max_steps = 0;
  std::int64_t epoch = 0;  // from 1
  double loss = 0;
  bool has_perplexity = false;  // the loss is in nats per token
  double learning_rate = 0;
  double tokens_per_second = 0;
  double seconds_left = 0;
};

class Progress {
 public:
  Progress();
  ~Progress();

  // True if the bar may be redrawn now (only on a terminal, a few times a second).
  bool wants_update() const;
  void update(const ProgressReport& report);

  // The end of an interval of the log; prints a line if there is no terminal.
  void interval(const ProgressReport& report);

  // Removes the bar, before another message.
  void clear();

 private:
  bool has_bar_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_;
};

// 95 as "1:35", 7260 as "2:01:00".
std::string format_seconds(double seconds);

}  // namespace attend
