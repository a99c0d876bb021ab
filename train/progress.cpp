#include "train/progress.hpp"

#include <spdlog/fmt/fmt.h>

#include <cmath>

#include "core/progress.hpp"

namespace attend {

std::string describe(const ProgressReport& report) {
  const std::string perplexity = report.has_perplexity ? fmt::format("  ppl {:.2f}", std::exp(report.loss)) : "";
  return fmt::format("step {}/{}  epoch {}  loss {:.3f}{}  {:.0f} tok/s  lr {:.2e}  left {}", report.step,
                     report.max_steps, report.epoch, report.loss, perplexity, report.tokens_per_second,
                     report.learning_rate, format_seconds(report.seconds_left));
}

}  // namespace attend
