// Pretraining an encoder, from its options to its last checkpoint.
#pragma once

#include "core/options.hpp"
#include "train/pretraining/config.hpp"
#include "train/session.hpp"

namespace attend {

// Trains the encoder described by `config` in its run directory. Throws UserError and Interrupted as train() does.
void pretrain(const PretrainingConfig& config, const OptionOrigins& origins, const ProcessHooks& hooks = {});

}  // namespace attend
