#include "cli/commands.hpp"

namespace attend {

Command evaluate_command();
Command toy_command();

std::vector<Command> all_commands() { return {toy_command(), evaluate_command()}; }

}  // namespace attend
