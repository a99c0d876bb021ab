// Work on all processors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <future>
#include <thread>
#include <vector>

namespace attend {

// Calls work(begin, end) for about equal parts of [0, count), which run at the same time. Throws what one of them
// threw, when all have ended.
template <class Work>
void in_parallel(std::size_t count, const Work& work) {
  const std::size_t parts = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 16);
  std::vector<std::future<void>> done;
  for (std::size_t part = 0; part < parts; ++part) {
    done.push_back(std::async(std::launch::async, [&work, begin = count * part / parts,
                                                   end = count * (part + 1) / parts] { work(begin, end); }));
  }
  for (auto& result : done) result.get();
}

}  // namespace attend
