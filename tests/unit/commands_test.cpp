// What the commands declare.
#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <vector>

#include "cli/command.hpp"

namespace attend {
namespace {

// A condition on an option that its own command lacks holds always, so a misspelt one would go unnoticed.
TEST(Commands, ConditionsNameOptionsOfSomeCommand) {
  const std::vector<Command> commands = all_commands();
  std::set<std::string_view> known;
  for (const Command& command : commands) {
    for (const BoundOption& option : command.prepare().options) known.insert(option.name);
  }
  int conditions = 0;
  for (const Command& command : commands) {
    for (const BoundOption& option : command.prepare().options) {
      const Condition& only = option.traits.only;
      if (only.option.empty() || only.is_on_fact()) continue;
      ++conditions;
      EXPECT_TRUE(known.contains(only.option)) << command.name << " --" << option.name << ": " << only.option;
    }
  }
  EXPECT_GT(conditions, 50);
}

}  // namespace
}  // namespace attend
