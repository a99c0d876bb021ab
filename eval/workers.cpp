#include "eval/workers.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "core/process.hpp"

namespace attend {

std::vector<std::vector<std::size_t>> batches_of_lengths(
    std::span<const std::int64_t> lengths, std::int64_t most_sequences, std::int64_t most_cost,
    const std::function<std::int64_t(std::size_t first)>& cost_beside) {
  const auto cost = [&](std::size_t i, std::size_t first) { return cost_beside ? cost_beside(first) : lengths[i]; };
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return lengths[i]; });
  std::vector<std::vector<std::size_t>> batches;
  std::int64_t spent = 0;  // by the newest batch
  for (const std::size_t i : order) {
    if (batches.empty() || std::ssize(batches.back()) == most_sequences ||
        spent + cost(i, batches.back().front()) > most_cost) {
      batches.emplace_back();
      spent = 0;
    }
    batches.back().push_back(i);
    spent += cost(i, batches.back().front());
  }
  return batches;
}

std::int64_t num_workers(std::optional<std::int64_t> given) { return given.value_or(usable_processors()); }

void run_workers(std::size_t count, std::int64_t workers, std::int64_t threads,
                 const std::function<void(std::size_t)>& work) {
  const std::size_t pool_size = std::min(count, static_cast<std::size_t>(workers));
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto loop = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  if (pool_size <= 1) {
    loop();
  } else {
    std::vector<std::jthread> pool;
    for (std::size_t w = 0; w < pool_size; ++w) {
      pool.emplace_back([&] {
        at::set_num_threads(static_cast<int>(threads));
        loop();
      });
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace attend
