// What the commands declare.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "core/conditions.hpp"
#include "tests/support/user_error.hpp"

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
      for (const Condition& condition : option.conditions) {
        if (condition.is_on_fact) continue;
        ++conditions;
        EXPECT_TRUE(known.contains(condition.name)) << command.name << " --" << option.name << ": " << condition.name;
      }
    }
  }
  EXPECT_GT(conditions, 50);
}

// A value other than the option's default.
OptionValue another_value(const BoundOption& option) {
  const OptionValue value = option.get();
  switch (option.kind) {
    case OptionKind::flag: return value != OptionValue(true);
    case OptionKind::integer: return std::int64_t{987'654};
    case OptionKind::number: return 0.987654;
    case OptionKind::text: return std::string("another");
    case OptionKind::list: return std::vector<std::string>{"another"};
    case OptionKind::duration: return Duration{987'654};
    case OptionKind::choice: break;
  }
  const std::string first(option.choices.front());
  return value == OptionValue(first) ? std::string(option.choices.back()) : first;
}

// A value of an option with which a condition on it fails.
OptionValue failing_value(const BoundOption& option, const Condition& condition) {
  if (condition.above) return *condition.above;
  const bool needs_any = condition.values[0].empty() && !condition.is_without;
  if (!needs_any && option.kind == OptionKind::choice) {
    const auto is_allowed = [&](std::string_view choice) {
      return std::ranges::find(condition.values, choice) != condition.values.end();
    };
    return std::string(*std::ranges::find_if_not(option.choices, is_allowed));
  }
  if (!needs_any) return another_value(option);
  if (option.may_be_auto) return Auto();
  switch (option.kind) {
    case OptionKind::flag: return false;
    case OptionKind::integer: return std::int64_t{0};
    case OptionKind::number: return 0.0;
    case OptionKind::list: return std::vector<std::string>();
    default: return std::string();
  }
}

TEST(Commands, RefuseAnOptionWhoseConditionFails) {
  int conditions = 0;
  for (const Command& command : all_commands()) {
    const Invocation usual = command.prepare();
    const BoundOptions& declared = usual.options;
    const OptionTexts defaults = texts_of(declared);
    for (const BoundOption& option : declared) {
      for (const Condition& condition : option.conditions) {
        Invocation call = command.prepare();
        Facts facts;
        if (condition.is_on_fact) {
          facts[{condition.name}] = {"another value"};
        } else if (const BoundOption* other = find_option(call.options, condition.name)) {
          other->set(failing_value(*other, condition));
        } else {
          continue;  // of a struct that other commands bind with that option
        }
        ++conditions;
        find_option(call.options, option.name)->set(another_value(option));
        const auto place = [&](std::string_view name) { return name == option.name ? "--" + std::string(name) : ""; };
        const std::string said = user_error_of([&] { refuse_inapplicable(call.options, defaults, place, facts); });
        EXPECT_TRUE(said.starts_with("--" + std::string(option.name) + " has no meaning "))
            << command.name << " --" << option.name << ": " << said;
        EXPECT_NE(conditions_text(declared, option), "");
      }
    }
  }
  EXPECT_GT(conditions, 200);
}

}  // namespace
}  // namespace attend
