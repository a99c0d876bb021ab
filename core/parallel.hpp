// Work divided among threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <type_traits>
#include <vector>

#include "core/host.hpp"

namespace attend {

inline std::size_t usual_threads() { return static_cast<std::size_t>(std::min<std::int64_t>(usable_processors(), 16)); }

// Calls work(begin, end) for about equal parts of [0, count), at most `threads`, each on its own thread; a single part
// runs on the caller's. Returns the results in the order of the parts. An exception is rethrown after all parts end.
template <class Work>
auto in_parallel(std::size_t count, const Work& work, std::size_t threads = usual_threads()) {
  using Result = std::invoke_result_t<Work, std::size_t, std::size_t>;
  const std::size_t parts = std::min(count, threads);
  const auto policy = parts == 1 ? std::launch::deferred : std::launch::async;
  std::vector<std::future<Result>> started;
  started.reserve(parts);
  for (std::size_t part = 0; part < parts; ++part) {
    started.push_back(std::async(policy, std::cref(work), count * part / parts, count * (part + 1) / parts));
  }
  if constexpr (std::is_void_v<Result>) {
    for (auto& part : started) part.get();
  } else {
    std::vector<Result> results;
    results.reserve(parts);
    for (auto& part : started) results.push_back(part.get());
    return results;
  }
}

}  // namespace attend
