// Teaching an encoder a labelled task.
#pragma once

#include "core/options.hpp"
#include "train/finetuning/config.hpp"

namespace attend {

// One run. UserError for what the user can put right; Interrupted after a signal, when everything is saved.
void finetune(const FinetuningConfig& config, const OptionOrigins& origins);

// A run for each seed in RUN/seed-N, and RUN/seeds.json: their scores, mean and deviation, and the seed that RUN stands
// for. Without seeds a run as above.
void finetune(const FinetuningCommand& command, const OptionOrigins& origins);

}  // namespace attend
