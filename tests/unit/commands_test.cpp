// What the commands declare. A condition on a misspelt option would hold always.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"

namespace attend {
namespace {

bool can_be(const BoundOption& option, std::string_view value) {
  if (option.kind == OptionKind::flag) return value == "true" || value == "false";
  return std::ranges::find(option.choices, value) != option.choices.end();
}

TEST(Commands, ConditionsNameOptionsAndValuesThatExist) {
  const std::vector<Command> commands = all_commands();
  std::set<std::string_view> known;  // by any command: one may lack the option that a condition names
  for (const Command& command : commands) {
    for (const BoundOption& option : command.prepare().options) known.insert(option.name);
  }
  int conditions = 0;
  for (const Command& command : commands) {
    const BoundOptions options = command.prepare().options;
    for (const BoundOption& option : options) {
      const Condition& only = option.traits.only;
      if (only.option.empty() || only.is_on_fact()) continue;
      ++conditions;
      const std::string what = command.name + " --" + std::string(option.name) + ": " + std::string(only.option);
      EXPECT_TRUE(known.contains(only.option)) << what;
      const BoundOption* other = find_option(options, only.option);
      if (other == nullptr) continue;
      EXPECT_LT(other, &option) << what << " is declared later";
      for (const std::string_view value : only.values) EXPECT_TRUE(value.empty() || can_be(*other, value)) << what;
    }
  }
  EXPECT_GT(conditions, 50);
}

}  // namespace
}  // namespace attend
