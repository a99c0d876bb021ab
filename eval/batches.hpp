// Batches of sequences of similar length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace attend {

// Batches of the sequences of these lengths: the longest first, so that no worker is left with them at the end; at most
// `most_sequences` in each, which cost at most `most_cost` together, but at least one. A sequence costs its length, or,
// with `cost_beside`, so much in a batch whose first sequence, the longest, is `first`.
std::vector<std::vector<std::size_t>> batches_of_lengths(
    std::span<const std::int64_t> lengths, std::int64_t most_sequences, std::int64_t most_cost,
    const std::function<std::int64_t(std::size_t first)>& cost_beside = {});

}  // namespace attend
