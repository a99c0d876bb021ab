// Training a translation model, from its options to its last checkpoint.
#pragma once

#include "core/options.hpp"
#include "train/session.hpp"
#include "train/translation/config.hpp"

namespace attend {

// Trains the model that `config` describes, in its run directory. UserError and Interrupted as train() (session.hpp).
void train_translation(const TranslationConfig& config, const OptionOrigins& origins, const ProcessHooks& hooks = {});

}  // namespace attend
