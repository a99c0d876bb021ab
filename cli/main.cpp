// The program attend.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <iostream>
#include <string_view>
#include <utility>

#include "cli/command.hpp"
#include "core/error.hpp"
#include "core/log.hpp"

// Read by jemalloc at start-up. Freed memory stays with the process (core/process.hpp returns it where needed).
// Allocations of 64 MiB or more, such as the gradient of a large table, have a dedicated arena, as they would seldom
// fit between the others. Huge pages save a twentieth of the time of greedy search, which reads all weights for few
// rows.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "dirty_decay_ms:-1,muzzy_decay_ms:-1,oversize_threshold:67108864,thp:always";
}

namespace {

// If the working directory was deleted, MKL would end the process while it is loaded, with an obscure message.
void check_working_directory() {
  char path[4096];
  if (syscall(SYS_getcwd, path, sizeof path) > 0 || errno != ENOENT) return;
  constexpr std::string_view kMessage =
      "attend: error: the working directory was deleted\n  change to a directory that exists\n";
  if (write(STDERR_FILENO, kMessage.data(), kMessage.size()) >= 0) _exit(attend::kExitUserMistake);
  _exit(attend::kExitUserMistake);
}

// OpenMP threads spin while they wait for each other. With GCC's default they spin for milliseconds, and two trainings
// on the same processors drop to a fifth of their speed; this spin count costs a single training nothing
// (bench/shared). The library reads it from the environment when it is loaded, hence the restart, which takes a few
// milliseconds.
void shorten_spinning(char** argv, char** environment) {
  constexpr std::size_t kMostVariables = 4096;
  static char setting[] = "GOMP_SPINCOUNT=2000";
  static char* extended[kMostVariables + 2];
  std::size_t count = 0;
  for (; environment[count] != nullptr; ++count) {
    const std::string_view variable = environment[count];
    if (count == kMostVariables || variable.starts_with("GOMP_SPINCOUNT=") ||
        variable.starts_with("OMP_WAIT_POLICY=")) {
      return;
    }
    extended[count] = environment[count];
  }
  extended[count] = setting;
  syscall(SYS_execve, "/proc/self/exe", argv, extended);  // returns only on failure: the default then stays
}

// Runs before the constructors of all libraries: only system calls are safe.
void before_all_libraries(int, char** argv, char** environment) {
  check_working_directory();
  shorten_spinning(argv, environment);
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_libraries)(int, char**,
                                                                             char**) = before_all_libraries;

}  // namespace

int main(int argc, char** argv) {
  // If the caller closed one of the standard streams, its number must not go to a file that is opened later. Writing to
  // standard output still fails with a message.
  for (const auto& [stream, mode] : {std::pair(0, O_RDONLY), std::pair(1, O_RDONLY), std::pair(2, O_WRONLY)}) {
    if (fcntl(stream, F_GETFD) == -1) open("/dev/null", mode);  // gets the lowest free number
  }
  attend::output::replace_cout();
  const int code = attend::run_program(attend::all_commands(), {argv + 1, argv + argc});
#if defined(__SANITIZE_ADDRESS__)
  if (code != attend::kExitInterrupted) return code;  // exit() looks for leaks
#endif
  // Flushes what was printed before an error. A second error changes nothing.
  try {
    std::cout.flush();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
  }
  // Without the destructors of exit(): a thread may still be in a library that cannot be interrupted, and LibTorch
  // takes up to a third of its loading time to unregister its operators one by one.
  _exit(code);
}
