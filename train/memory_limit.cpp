#include "train/memory_limit.hpp"

#include <c10/util/Exception.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <new>
#include <optional>
#include <sstream>
#include <string_view>

#include "core/error.hpp"
#include "core/log.hpp"

namespace attend {
namespace {

// The number that follows `key` on a line of a file such as /sys/fs/cgroup/memory.stat.
std::optional<std::uint64_t> number_after(std::string_view key, const char* file) {
  std::ifstream lines(file);
  for (std::string line, name; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::uint64_t number = 0;
    if (fields >> name >> number && name == key) return number;
  }
  return std::nullopt;
}

// The number of a line such as "MemAvailable:  24000 kB" of a file in /proc, in bytes.
std::optional<std::uint64_t> proc_bytes(std::string_view key, const char* file) {
  const auto kilobytes = number_after(key, file);
  return kilobytes ? std::optional(*kilobytes * 1024) : std::nullopt;
}

// The number in a file; nullopt if the file is missing or contains "max".
std::optional<std::uint64_t> number_in(const char* file) {
  std::ifstream in(file);
  std::uint64_t number = 0;
  if (in >> number) return number;
  return std::nullopt;
}

bool is_allocation_failure(const c10::Error& error) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return true;
  return error.msg().find("allocate memory") != std::string::npos ||
         error.msg().find("enough memory") != std::string::npos;
}

[[noreturn]] void refuse(const std::string& remedy) {
  throw UserError(
      fmt::format("out of memory (at most {:.1f} GB were in use)", static_cast<double>(peak_resident_bytes()) / 1e9),
      remedy);
}

}  // namespace

void refuse_memory_beyond_machine(int processes) {
  std::optional<std::uint64_t> free = proc_bytes("MemAvailable:", "/proc/meminfo");
  const auto limit = number_in("/sys/fs/cgroup/memory.max");
  if (const auto current = number_in("/sys/fs/cgroup/memory.current"); limit && current) {
    // The page cache counts as used but is freed when memory is needed.
    const std::uint64_t cached = number_after("inactive_file", "/sys/fs/cgroup/memory.stat").value_or(0);
    const std::uint64_t used = *current - std::min(*current, cached);
    free = std::min(free.value_or(*limit), *limit - std::min(used, *limit));
  }
  const std::optional<std::uint64_t> data = proc_bytes("VmData:", "/proc/self/status");
  rlimit bound{};
  if (!free || !data || getrlimit(RLIMIT_DATA, &bound) != 0) return;
  // A margin for other processes: at the very limit the kernel would kill the process anyway.
  bound.rlim_cur = std::min<rlim_t>(bound.rlim_cur, *data + *free / 16 * 15 / processes);
  setrlimit(RLIMIT_DATA, &bound);
}

void with_memory_remedy(const std::string& remedy, const std::function<void()>& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    refuse(remedy);
  } catch (const c10::Error& error) {
    if (!is_allocation_failure(error)) throw;
    refuse(remedy);
  }
}

std::int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

}  // namespace attend
