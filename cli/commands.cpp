#include "cli/commands.hpp"

namespace attend {

Command toy_command();

std::vector<Command> all_commands() { return {toy_command()}; }

}  // namespace attend
