#include "eval/workers.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/host.hpp"

namespace attend {

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
