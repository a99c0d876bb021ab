// Batches of similar length, and the workers that process them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace attend {

// Batches of the sequences of these lengths: the longest first, so that no worker is left with them at the end; at most
// `most_sequences` in each, which cost at most `most_cost` together, but at least one. A sequence costs its length, or,
// with `cost_beside`, so much in a batch whose first sequence, the longest, is `first`.
std::vector<std::vector<std::size_t>> batches_of_lengths(
    std::span<const std::int64_t> lengths, std::int64_t most_sequences, std::int64_t most_cost,
    const std::function<std::int64_t(std::size_t first)>& cost_beside = {});

// The given number of workers; without one, one per processor.
std::int64_t num_workers(std::optional<std::int64_t> given);

// Calls work(i) for i = 0 … count - 1 on `workers` threads, each of which computes with `threads`; on the calling
// thread as it is, if `workers` or `count` is 1. The first exception stops all workers and is rethrown here.
void run_workers(std::size_t count, std::int64_t workers, std::int64_t threads,
                 const std::function<void(std::size_t)>& work);

}  // namespace attend
