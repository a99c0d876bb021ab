#include "core/signals.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "core/error.hpp"

namespace attend::signals {
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

}  // namespace attend::signals
