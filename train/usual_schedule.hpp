// The usual length, learning rate, warm-up and interval of validation of each kind of training, side by side: what
// these options become where they are left at auto.
#pragma once

#include <cstdint>

#include "train/schedule.hpp"
#include "train/trainer.hpp"

namespace attend {

struct UsualSchedule {
  std::int64_t updates;  // without --max-steps and --max-epochs
  double learning_rate;
  std::int64_t warmup_steps, valid_every;
};

// Translation. Rate and warm-up do not depend on --max-steps, which may be raised later.
UsualSchedule usual_of_translation(const TrainerConfig& trainer, std::int64_t batches_per_epoch, std::int64_t width);

// Pretraining. `tolerant`: the model takes higher rates, as recurrent and pre-norm language models do; `by_clock`: the
// schedule ends at --max-time.
UsualSchedule usual_of_pretraining(const TrainerConfig& trainer, std::int64_t batches_per_epoch, std::int64_t width,
                                   bool tolerant, bool by_clock);

// Fine-tuning, from an encoder of that origin.
enum class EncoderOrigin { random, pretrained, imported };
UsualSchedule usual_of_finetuning(const TrainerConfig& trainer, std::int64_t batches_per_epoch, std::int64_t width,
                                  EncoderOrigin origin);

// Sets those that are auto. A run has max_steps afterwards, or max_epochs.
void resolve(TrainerConfig& trainer, ScheduleConfig& schedule, const UsualSchedule& usual);

}  // namespace attend
