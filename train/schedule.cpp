#include "train/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attend {
namespace {

// The number of halvings after the fraction `share` of the updates: 0 before halve_after, 1 from there, and one more
// every halve_every.
double halvings_at(const ScheduleConfig& config, double share) {
  constexpr double kRounding = 1e-9;  // 0.6 - 0.5 is a little less than 0.1
  const double past = (share - config.halve_after) / config.halve_every + kRounding;
  return past < 0 ? 0 : std::floor(past) + 1;
}

}  // namespace

double learning_rate_at(const ScheduleConfig& config, std::int64_t step, std::int64_t max_steps) {
  const double peak = config.learning_rate.value();
  double warmup = static_cast<double>(config.warmup_steps.value());
  if (config.end == ScheduleEnd::max_time) warmup = std::min(warmup, static_cast<double>(max_steps) / 10);
  warmup = std::max(warmup, 1.0);
  const auto now = static_cast<double>(step);
  const auto end = static_cast<double>(max_steps) + 1;
  const double left = std::max(end - now, 0.0);

  double share = 1;
  if (now < warmup) {
    share = now / warmup;
  } else {
    const double u = std::min(1.0, left / std::max(end - warmup, 1.0));
    switch (config.schedule.value()) {
      case ScheduleKind::inverse_sqrt: share = std::sqrt(warmup / now); break;
      case ScheduleKind::linear: share = u; break;
      case ScheduleKind::cosine: share = (1 - std::cos(std::numbers::pi * u)) / 2; break;
      case ScheduleKind::constant:
      case ScheduleKind::wsd: break;
      case ScheduleKind::halving:
        share = std::exp2(-halvings_at(config, (now - 1) / static_cast<double>(max_steps)));
        break;
    }
  }
  if (const double decay = config.chosen_decay(); decay > 0) {
    const double last = std::round(decay * static_cast<double>(max_steps)) + 1, u = std::min(1.0, left / last);
    share *= config.schedule == ScheduleKind::wsd ? 1 - std::sqrt(1 - u) : u;
  }
  return peak * share;
}

}  // namespace attend
