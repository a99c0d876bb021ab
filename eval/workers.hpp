// Parallel workers that process batches with one frozen model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace attend {

// The given number of workers; without one, one per processor.
std::int64_t num_workers(std::optional<std::int64_t> given);

// Calls work(i) for i = 0 … count - 1 on `workers` threads, each of which computes with `threads`; on the calling
// thread as it is, if `workers` or `count` is 1. The first exception stops all workers and is rethrown here.
void run_workers(std::size_t count, std::int64_t workers, std::int64_t threads,
                 const std::function<void(std::size_t)>& work);

}  // namespace attend
