// Training a translation model, from its options to its last checkpoint.
#pragma once

#include "core/options.hpp"
#include "train/session.hpp"
#include "train/translation/config.hpp"

namespace attend {

// Trains the model described by `config` in its run directory. Throws UserError and Interrupted as train() does.
void train_translation(const TranslationConfig& config, const OptionOrigins& origins, const ProcessHooks& hooks);

}  // namespace attend
