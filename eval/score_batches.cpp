#include "eval/score_batches.hpp"

#include <algorithm>
#include <numeric>

#include "core/error.hpp"
#include "core/freed_memory.hpp"
#include "core/signals.hpp"
#include "eval/workers.hpp"

namespace attend {

std::vector<std::vector<std::size_t>> batches_of_lengths(std::span<const std::int64_t> lengths,
                                                         std::int64_t most_sequences, std::int64_t most_tokens) {
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return lengths[a] > lengths[b]; });
  std::vector<std::vector<std::size_t>> batches;
  std::int64_t tokens = 0;  // of the newest batch
  for (const std::size_t i : order) {
    if (batches.empty() || std::ssize(batches.back()) == most_sequences || tokens + lengths[i] > most_tokens) {
      batches.emplace_back();
      tokens = 0;
    }
    batches.back().push_back(i);
    tokens += lengths[i];
  }
  return batches;
}

void score_in_batches(std::span<const std::int64_t> lengths, const ScoreConfig& config,
                      const std::function<void(std::span<const std::size_t>)>& score_batch) {
  constexpr std::int64_t kTokensInBatch = 16384;  // limit of the memory of a forward pass
  const auto batches = batches_of_lengths(lengths, config.batch_size, kTokensInBatch);
  run_workers(batches.size(), static_cast<std::size_t>(num_workers(config.workers)), static_cast<int>(config.threads),
              [&](std::size_t b) {
                if (signals::stop_requested()) throw Interrupted("scoring was interrupted");
                score_batch(batches[b]);
                return_freed_memory();
              });
}

}  // namespace attend
