#include "train/usual_schedule.hpp"

#include <algorithm>
#include <cmath>

namespace attend {

UsualSchedule usual_of_translation(const TrainerConfig& trainer, std::int64_t batches_per_epoch, std::int64_t width) {
  const std::int64_t epoch = trainer.updates_of(batches_per_epoch);
  // Thirty epochs of a small corpus, fewer of a large one.
  const std::int64_t updates = std::clamp<std::int64_t>(30 * epoch, 1500, 100'000);
  // recipes/rates, after 1,160 updates of width 256: the best for Luong's model, and within 0.06 nats of the best,
  // 5e-3, for Bahdanau's, for none and for the Transformer, which fails at 8e-3. Wider models and longer trainings need
  // smaller rates: a Transformer of width 512 gets the usual 7e-4 for 100,000 updates (arXiv 1706.03762, section 5.3).
  const double best = 3e-3;
  const double rate =
      best * std::sqrt(256.0 / static_cast<double>(width)) * std::pow(1160.0 / static_cast<double>(updates), 0.25);
  return {
      .updates = updates,
      .learning_rate = std::min(rate, best),
      .warmup_steps = std::clamp<std::int64_t>(updates / 8, 200, 4000),  // recipes/rates: short ones cost every family
      .valid_every = std::clamp<std::int64_t>(epoch, 100, 5000)};
}

UsualSchedule usual_of_pretraining(const TrainerConfig& trainer, std::int64_t batches_per_epoch, std::int64_t width,
                                   bool tolerant, bool by_clock) {
  const std::int64_t epoch = trainer.updates_of(batches_per_epoch);
  const std::int64_t usual = trainer.max_epochs ? trainer.updates_of(*trainer.max_epochs * batches_per_epoch)
                                                : std::clamp<std::int64_t>(3 * epoch, 1000, 1'000'000);
  const std::int64_t updates = trainer.max_steps.value_or(usual);
  // Wider models need smaller rates: 7e-4 at width 256, 2.3e-4 at 768 (arXiv 1810.04805, appendix A.2: 1e-4 there).
  const double rate = std::min(7e-4 * 256 / static_cast<double>(width), 1e-3);
  // A hundredth of the updates, as in the same place, where it is 10,000 of 1,000,000.
  const std::int64_t warmup = std::min(std::clamp<std::int64_t>(updates / 100, 100, 10'000), updates / 10);
  return {.updates = updates,
          .learning_rate = tolerant ? 2 * rate : rate,
          .warmup_steps = by_clock ? 300 : warmup,
          .valid_every = std::clamp<std::int64_t>(epoch / 4, 100, 5000)};
}

UsualSchedule usual_of_finetuning(const TrainerConfig& trainer, std::int64_t batches_per_epoch, std::int64_t width,
                                  EncoderOrigin origin) {
  constexpr std::int64_t kMostValidations = 20;
  // Three epochs and a tenth of them for warm-up (arXiv 1810.04805, appendix A.3; its code).
  const std::int64_t batches = trainer.max_epochs.value_or(3) * batches_per_epoch;
  const std::int64_t updates = trainer.max_steps.value_or(trainer.updates_of(batches));
  // Wider encoders need smaller rates: 3.3e-5 at width 768 (arXiv 1810.04805, appendix A.3: 2e-5 to 5e-5), 2e-4 at 128
  // (1908.08962). Encoders pretrained by attend have seen less text and need three times these rates.
  const double rate = std::clamp(0.0256 / static_cast<double>(width), 2e-5, 2e-4);
  return {.updates = updates,
          .learning_rate = origin == EncoderOrigin::random     ? 5e-4
                           : origin == EncoderOrigin::imported ? rate
                                                               : 3 * rate,
          .warmup_steps = updates / 10,
          .valid_every = trainer.updates_of(std::max((batches_per_epoch + 1) / 2, batches / kMostValidations))};
}

void resolve(TrainerConfig& trainer, ScheduleConfig& schedule, const UsualSchedule& usual) {
  if (!schedule.learning_rate) schedule.learning_rate = usual.learning_rate;
  if (!schedule.warmup_steps) schedule.warmup_steps = usual.warmup_steps;
  if (!trainer.max_steps && !trainer.max_epochs) trainer.max_steps = usual.updates;
  if (!trainer.valid_every) trainer.valid_every = usual.valid_every;
}

}  // namespace attend
