// Fine-tunes an encoder on a labelled task.
#pragma once

#include "core/options.hpp"
#include "train/finetuning/config.hpp"
#include "train/session.hpp"

namespace attend {

// One run. Throws UserError for the user's mistakes, and Interrupted after a signal, once everything is saved.
void finetune(const FinetuningConfig& config, const OptionOrigins& origins, const ProcessHooks& hooks);

// One run per seed in RUN/seed-N, and RUN/seeds.json with their scores, mean, standard deviation and best seed. Without
// --seeds, a single run as above.
void finetune(const FinetuningCommand& command, const OptionOrigins& origins, const ProcessHooks& hooks);

}  // namespace attend
