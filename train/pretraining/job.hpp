// Pretraining an encoder or a language model, from its options to its last checkpoint.
#pragma once

#include "core/options.hpp"
#include "train/pretraining/config.hpp"
#include "train/session.hpp"

namespace attend {

// Trains the model described by `config` in its run directory. A resumed run keeps its objective unless another one is
// given. Throws UserError and Interrupted as train() does.
void pretrain(const PretrainingConfig& config, const OptionOrigins& origins, const ProcessHooks& hooks);

}  // namespace attend
