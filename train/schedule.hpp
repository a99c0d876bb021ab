// The learning rate as a pure function of the update: linear warm-up to the peak, then one of six schedules, and
// optionally a linear decay to zero over the last share of the updates.
//
// inverse-sqrt: Vaswani et al. 2017 (arXiv 1706.03762, eq. 3), scaled so that its peak is the learning rate; cosine:
// Loshchilov and Hutter 2017 (1608.03983) without restarts; halving: Luong et al. 2015 (1508.04025, section 4.1), who
// halve the rate every epoch after the fifth of ten; here the intervals are fractions of all updates. wsd: warm-up,
// stable, decay (Hu et al. 2024, "MiniCPM", 2404.06395, section 4), with the decay of Hägele et al. 2024 (2405.18392,
// section 4): until it begins, the training may be continued for longer as if the end had been unknown.
#pragma once

#include <cstdint>
#include <optional>

#include "core/options.hpp"

namespace attend {

enum class ScheduleKind { inverse_sqrt, linear, cosine, constant, halving, wsd };
template <>
inline constexpr auto kEnumNames<ScheduleKind> = std::to_array<EnumName<ScheduleKind>>({
    {ScheduleKind::inverse_sqrt, "inverse-sqrt"},
    {ScheduleKind::linear, "linear"},
    {ScheduleKind::cosine, "cosine"},
    {ScheduleKind::constant, "constant"},
    {ScheduleKind::halving, "halving"},
    {ScheduleKind::wsd, "wsd"},
});

enum class ScheduleEnd { max_steps, max_time };
template <>
inline constexpr auto kEnumNames<ScheduleEnd> =
    std::to_array<EnumName<ScheduleEnd>>({{ScheduleEnd::max_steps, "max-steps"}, {ScheduleEnd::max_time, "max-time"}});

struct ScheduleConfig {
  std::optional<ScheduleKind> schedule = {};
  std::optional<double> learning_rate = {};
  std::optional<std::int64_t> warmup_steps = {};
  double halve_after = 0.5;
  double halve_every = 0.1;
  std::optional<double> decay_last = {};
  std::optional<ScheduleEnd> end = {};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("schedule", self.schedule,
          {.help = "learning-rate schedule after warm-up; auto: inverse-sqrt, for adadelta constant, for sgd halving",
           .common = true});
    visit("learning-rate", self.learning_rate,
          {.help = "peak learning rate; auto: by width and size of the data, 1 for adadelta and sgd",
           .min = 0,
           .max = 100,
           .common = true});
    visit("warmup-steps", self.warmup_steps,
          {.help = "updates of linear warm-up; auto: none for adadelta and sgd, else by size of the data or number "
                   "of updates. At most a tenth of the updates possible within max-time",
           .min = 0,
           .max = 1e9,
           .common = true});
    visit("halve-after", self.halve_after,
          {.help = "fraction of max-steps before the first halving",
           .min = 0,
           .max = 1,
           .only = {"schedule", {"halving"}}});
    visit(
        "halve-every", self.halve_every,
        {.help = "fraction of max-steps between halvings", .min = 0.001, .max = 1, .only = {"schedule", {"halving"}}});
    visit("decay-last", self.decay_last,
          {.help = "final fraction of max-steps over which the rate decays to zero, linearly besides the schedule, in "
                   "wsd by a root; auto: 0, for wsd 0.2",
           .min = 0,
           .max = 1});
    visit("schedule-end", self.end,
          {.help = "end of the decay: max-steps, or max-time (predicted from the speed so far, hence not reproducible "
                   "bit for bit); auto: max-steps, but max-time if it is the only limit, except in fine-tuning"});
  }

  // The value of `decay_last`, or the schedule's default.
  double chosen_decay() const { return decay_last.value_or(schedule == ScheduleKind::wsd ? 0.2 : 0); }
};

// The rate of update `step` = 1, 2, … max_steps: peak · step / warmup_steps during warm-up; afterwards, with
// u = (max_steps + 1 - step) / (max_steps + 1 - warmup_steps), which falls from 1 to just above 0:
//
//   inverse-sqrt   peak · sqrt(warmup_steps / step)
//   linear         peak · u
//   cosine         peak · (1 - cos(πu)) / 2
//   constant       peak
//   wsd            peak, but in the last n = decay-last · max_steps updates, of which n_left remain with this one,
//                  peak · (1 - sqrt(1 - n_left / (n + 1))): of 100 and 0.2, the peak at 80, 0.31 of it at 90
//   halving        peak / 2^n, where n counts halve-after, halve-after + halve-every, … up to (step - 1) / max_steps
//
// Every update up to max_steps has a rate above 0. With max-epochs alone or schedule-end max-time, max_steps is an
// estimate; with the latter, warm-up is at most a tenth of it. `config` must be resolved.
double learning_rate_at(const ScheduleConfig& config, std::int64_t step, std::int64_t max_steps);

}  // namespace attend
