// A training run from its options to its last checkpoint.
#pragma once

#include "core/options.hpp"
#include "train/config.hpp"

namespace attend {

// Trains the translation model that `config` describes, in its run directory. UserError for what the user can put
// right; Interrupted after a signal, when everything is saved.
void train_translation(const TrainConfig& given, const OptionOrigins& origins);

}  // namespace attend
