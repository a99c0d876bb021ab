// The program attend.
#include <fcntl.h>

#include <utility>

#include "cli/commands.hpp"
#include "cli/program.hpp"

// Read by jemalloc at its start. Memory that is freed stays with the process: batches take and free about the same
// sizes over and over, and pages that went back to the system would be cleared each time (a sixth of the time of an
// encoder). What takes 64 MiB or more, such as the gradient of a large table, lies apart: it would seldom find a gap
// among the rest that it fits into.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "dirty_decay_ms:-1,muzzy_decay_ms:-1,oversize_threshold:67108864";
}

int main(int argc, char** argv) {
  // Where the caller closed one of the standard streams, a file that is opened later must not become it. What is
  // written to standard output is still not lost without a word.
  for (const auto& [stream, mode] : {std::pair(0, O_RDONLY), std::pair(1, O_RDONLY), std::pair(2, O_WRONLY)}) {
    if (fcntl(stream, F_GETFD) == -1) open("/dev/null", mode);  // takes the lowest number that is free
  }
  return attend::run_program(attend::all_commands(), {argv + 1, argv + argc});
}
