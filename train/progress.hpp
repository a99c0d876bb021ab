// The progress of a training, for a ProgressLine (core/progress.hpp).
#pragma once

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

  double fraction() const { return static_cast<double>(step) / static_cast<double>(max_steps > 0 ? max_steps : 1); }
};

std::string describe(const ProgressReport& report);

}  // namespace attend
