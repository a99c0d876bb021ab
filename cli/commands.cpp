#include "cli/commands.hpp"

namespace attend {

Command evaluate_command();
Command info_command();
Command toy_command();
Command translate_command();

std::vector<Command> all_commands() { return {toy_command(), translate_command(), evaluate_command(), info_command()}; }

}  // namespace attend
