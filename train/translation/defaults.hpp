// Resolves "auto": settings that depend on the model family, the size of the data and the machine.
#pragma once

#include <cstdint>

#include "train/translation/config.hpp"

namespace attend {

// Settings that depend on the number of target tokens: model and batch sizes, dropout.
void resolve_sizes(TranslationConfig& config, std::uint64_t target_tokens);

// Settings that depend on the batches and the model: learning rate, warm-up, limits and intervals. None depends on a
// limit that may be raised later, so that a prolonged run equals a run with the higher limit from the start.
void resolve_training(TranslationConfig& config, std::int64_t batches_per_epoch);

}  // namespace attend
