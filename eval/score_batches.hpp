// Sequences that are scored together (batches.hpp), on several workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "eval/score.hpp"

namespace attend {

// Calls score_batch(indices) for batches of all sequences, on the workers of `config`; of one sequence each, if they
// are differentiated. Interrupted after SIGINT or SIGTERM, which are polled before every batch.
void score_in_batches(std::span<const std::int64_t> lengths, const ScoreConfig& config,
                      const std::function<void(std::span<const std::size_t>)>& score_batch);

}  // namespace attend
