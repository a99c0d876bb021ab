#include "eval/score_batches.hpp"

#include "core/error.hpp"
#include "core/freed_memory.hpp"
#include "core/signals.hpp"
#include "eval/batches.hpp"
#include "eval/workers.hpp"

namespace attend {

void score_in_batches(std::span<const std::int64_t> lengths, const ScoreConfig& config,
                      const std::function<void(std::span<const std::size_t>)>& score_batch) {
  constexpr std::int64_t kTokensInBatch = 16384;  // limit of the memory of a forward pass
  const auto batches = batches_of_lengths(lengths, config.differentiate ? 1 : config.batch_size, kTokensInBatch);
  run_workers(batches.size(), num_workers(config.workers), config.threads, [&](std::size_t b) {
    if (signals::stop_requested()) throw Interrupted("scoring was interrupted");
    score_batch(batches[b]);
    return_freed_memory();
  });
}

}  // namespace attend
