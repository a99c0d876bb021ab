// The program, its process and its machine: version, time, host, memory, signals and threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <future>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace attend {

// The version of the program, "0.1.0 (1a2b3c4)": the release and, if known, the commit at configuration.
std::string_view version();

// The current second in UTC, as written into files, in ISO 8601: 2026-01-31T23:59:59Z.
inline std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[sizeof "2026-01-31T23:59:59Z"];
  return {text, std::strftime(text, sizeof text, "%FT%TZ", &parts)};
}

// The machine that this process runs on.

std::string host_name();

// The model name in /proc/cpuinfo; empty if there is none.
std::string processor_name();

// Processors that this process may use: those of its affinity mask (taskset, cpusets), at least 1.
std::int64_t usable_processors();

// Returns pages kept by the allocator to the system, at most once every two seconds; does nothing unless the allocator
// is jemalloc. For loops over batches of varying sizes, each of which would leave unused pages between longer-lived
// tensors (bench/memory). Not for training: updates allocate about the same sizes again and again, and would be slowed
// down by fresh pages, which the kernel clears.
void return_freed_memory();

namespace signals {

// Signals, polled. SIGINT, SIGTERM and SIGHUP (a closed terminal) request to save and stop; a SIGINT after that ends
// the program at once with exit code 130. SIGUSR1 requests to save and continue.

// Installs the handlers, except for a SIGHUP that is ignored (nohup).
void install();

// True after SIGINT, SIGTERM or SIGHUP. Loops that can save poll it, save, and throw Interrupted; others call
// throw_if_stopped(), which throws it with this message.
bool stop_requested();
void throw_if_stopped(const char* message);

// True if SIGUSR1 arrived since the last call.
bool take_save_request();

}  // namespace signals

// Work divided among threads.

inline std::size_t usual_threads() { return std::min<std::int64_t>(usable_processors(), 16); }

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
