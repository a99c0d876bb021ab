// Pretraining an encoder, from its options to its last checkpoint.
#pragma once

#include "core/options.hpp"
#include "train/pretraining/config.hpp"
#include "train/session.hpp"

namespace attend {

// Trains the encoder that `config` describes, in its run directory. UserError and Interrupted as train() (session.hpp).
void pretrain(const PretrainingConfig& config, const OptionOrigins& origins, const ProcessHooks& hooks = {});

}  // namespace attend
