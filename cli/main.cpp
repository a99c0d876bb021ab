// The program attend.
#include "cli/commands.hpp"
#include "cli/program.hpp"

int main(int argc, char** argv) { return attend::run_program(attend::all_commands(), {argv + 1, argv + argc}); }
