#pragma once

#include "core/options.hpp"
#include "train/finetuning_config.hpp"

namespace attend {

// Fine-tunes an encoder on a task, once for every seed. UserError for what the user can put right; Interrupted after a
// signal, when everything is saved.
void finetune(const FinetuningCommand& command, const OptionOrigins& origins);

}  // namespace attend
