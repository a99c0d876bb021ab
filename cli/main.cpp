// The program attend.
#include "cli/commands.hpp"
#include "cli/program.hpp"

// Read by jemalloc at its start. Memory that is freed stays with the process: batches take and free about the same
// sizes over and over, and pages that went back to the system would be cleared each time (a sixth of the time of an
// encoder).
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "dirty_decay_ms:-1,muzzy_decay_ms:-1";
}

int main(int argc, char** argv) { return attend::run_program(attend::all_commands(), {argv + 1, argv + argc}); }
