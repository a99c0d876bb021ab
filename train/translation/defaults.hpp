// What "auto" becomes: settings that depend on the family of the model, the size of the data and the machine.
#pragma once

#include <cstdint>

#include "train/translation/config.hpp"

namespace attend {

// What depends on how many target tokens there are to learn from: the sizes of the model and of batches, dropout.
void resolve_sizes(TranslationConfig& config, std::uint64_t target_tokens);

// What depends on the batches and the model: learning rate, warm-up, limits and intervals. None of them depends on a
// limit that may be raised later, so that a run that is prolonged is the run that was longer from the start.
void resolve_training(TranslationConfig& config, std::int64_t batches_per_epoch);

}  // namespace attend
