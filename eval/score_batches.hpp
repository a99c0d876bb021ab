// Sequences that are scored together, in batches of similar length and on several workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "eval/score.hpp"

namespace attend {

// Batches of the sequences of these lengths: the longest first, so that no worker ends with the longest alone; at most
// `most_sequences` and `most_tokens` in each, but at least one sequence.
std::vector<std::vector<std::size_t>> batches_of_lengths(std::span<const std::int64_t> lengths,
                                                         std::int64_t most_sequences, std::int64_t most_tokens);

// Calls score_batch(indices) for batches of all sequences, on the workers of `config`. Interrupted after SIGINT or
// SIGTERM, which are polled before every batch.
void score_in_batches(std::span<const std::int64_t> lengths, const ScoreConfig& config,
                      const std::function<void(std::span<const std::size_t>)>& score_batch);

}  // namespace attend
