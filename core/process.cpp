#include "core/process.hpp"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "core/error.hpp"

extern "C" [[gnu::weak]] int mallctl(const char* name, void* old_value, std::size_t* old_size, void* new_value,
                                     std::size_t new_size);

namespace attend {

std::string_view version() { return ATTEND_VERSION; }

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string processor_name() {
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

std::int64_t usable_processors() {
  cpu_set_t allowed;
  // All processors if the mask cannot be read, as on a machine with more than it holds.
  const int count = sched_getaffinity(0, sizeof(allowed), &allowed) == 0
                        ? CPU_COUNT(&allowed)
                        : static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, count);
}

void return_freed_memory() {
  using Clock = std::chrono::steady_clock;
  constexpr Clock::duration kInterval = std::chrono::seconds(2);
  static std::atomic<Clock::time_point> last = Clock::now();
  const Clock::time_point now = Clock::now();
  Clock::time_point before = last.load();
  if (mallctl == nullptr || now - before < kInterval || !last.compare_exchange_strong(before, now)) return;
  mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);  // 4096: all arenas
}

namespace signals {
namespace {

// A signal handler may access lock-free atomics (C++20 [support.signal]).
std::atomic<bool> stop = false;
std::atomic<bool> save = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void handle(int signal_number) {
  if (signal_number == SIGUSR1) {
    save = true;
  } else if (stop.exchange(true) && signal_number == SIGINT) {
    _exit(130);
  }
}

}  // namespace

void install() {
  struct sigaction action {};
  action.sa_handler = handle;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (const int signal_number : {SIGINT, SIGTERM, SIGUSR1}) sigaction(signal_number, &action, nullptr);
  struct sigaction hangup {};
  if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

bool stop_requested() { return stop; }

void throw_if_stopped(const char* message) {
  if (stop) throw Interrupted(message);
}

bool take_save_request() { return save.exchange(false); }

}  // namespace signals
}  // namespace attend
