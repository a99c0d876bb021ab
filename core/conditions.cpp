#include "core/conditions.hpp"

#include <algorithm>
#include <optional>

#include "core/error.hpp"
#include "core/text.hpp"

namespace attend {
namespace {

// The conditions of an option, its own first. A struct that is bound alone may lack the option that a condition names.
std::vector<const Condition*> chain_of(const BoundOptions& options, const BoundOption& option) {
  std::vector<const Condition*> chain;
  for (const BoundOption* at = &option; at != nullptr;) {
    const Condition& only = at->traits.only;
    at = find_option(options, only.option);
    if (at != nullptr || only.is_on_fact()) chain.push_back(&only);
  }
  return chain;
}

bool holds(const Condition& condition, std::string_view value) {
  if (!condition.values[0].empty()) return std::ranges::find(condition.values, value) != condition.values.end();
  return !value.empty() && value != "auto" && value != "false" && value != "0";
}

// "--model fixed", "tasks of kind spans"
std::string spelled(const Condition& condition, const std::string& value) {
  const std::string name = (condition.is_on_fact() ? "" : "--") + std::string(condition.option);
  return value.empty() || value == "true" ? name : name + " " + value;
}

// "--model luong, bahdanau", "--alignment", "calls without --fill-mask"
std::string in_words(const Condition& condition) {
  if (condition.values[0] == "false") return "calls without " + spelled(condition, "");
  std::string values;
  for (const std::string_view value : condition.values) {
    if (!value.empty()) values += (values.empty() ? "" : ", ") + std::string(value);
  }
  return spelled(condition, values);
}

// The outermost condition that fails, and the value that fails it.
struct Failure {
  const Condition* condition;
  std::string value;
};

std::optional<Failure> failure_of(const BoundOptions& options, const BoundOption& option, const OptionTexts& facts) {
  std::optional<Failure> failure;
  for (const Condition* condition : chain_of(options, option)) {
    const BoundOption* other = find_option(options, condition->option);
    const auto fact = facts.find(std::string(condition->option));
    if (other == nullptr && fact == facts.end()) continue;
    const std::string value = other != nullptr ? text_of(other->get()) : fact->second;
    if (!holds(*condition, value)) failure = {condition, value};
  }
  return failure;
}

}  // namespace

bool applies(const BoundOptions& options, const BoundOption& option, const OptionTexts& facts) {
  return !failure_of(options, option, facts);
}

std::string option_place(std::string_view name) { return "option " + std::string(name); }

OptionPlace given_place(const OptionOrigins& origins) {
  return [&origins](std::string_view name) { return origins.given(name) ? origins(name) : std::string(); };
}

void refuse_inapplicable(const BoundOptions& options, const OptionTexts& defaults, const OptionPlace& place,
                         const OptionTexts& facts) {
  for (const BoundOption& option : options) {
    const auto failure = failure_of(options, option, facts);
    const std::string where = failure ? place(option.name) : std::string();
    if (where.empty() || text_of(option.get()) == defaults.at(std::string(option.name))) continue;
    const auto& [condition, value] = *failure;
    throw UserError(where + " has no meaning " +
                        (condition->values[0].empty() ? "without " + spelled(*condition, "")
                         : condition->is_on_fact()    ? "for " + spelled(*condition, value)
                                                      : "with " + spelled(*condition, value)),
                    "leave it out; it is only for " + in_words(*condition));
  }
}

void check_required(const BoundOptions& options, std::string_view command, const std::string& before) {
  for (const BoundOption& option : options) {
    if (!option.traits.required || !text_of(option.get()).empty()) continue;
    std::string spelling = "--" + std::string(option.name);
    if (option.traits.positional) spelling = std::string(option.traits.placeholder) + " (or " + spelling + ")";
    throw UserError(std::string(command) + ": " + before + spelling + " is missing: " + std::string(option.traits.help),
                    std::string(command) + " --help lists the options");
  }
}

void refuse_given(std::string_view option, const OptionOrigins& origins, const std::string& why) {
  if (origins.given(option)) throw UserError(origins(option) + " has no meaning " + why, "leave it out");
}

void refuse_any_given(std::initializer_list<const char*> options, const OptionOrigins& origins,
                      const std::string& why) {
  for (const char* option : options) refuse_given(option, origins, why);
}

void check_two_files(const std::string& option, const std::vector<std::string>& files, const OptionOrigins& origins) {
  if (files.size() == 2) return;
  throw UserError(origins(option) + ": " + counted(std::ssize(files), "file") + ", expected 2",
                  "write --" + option + " SOURCE TARGET");
}

std::vector<OptionBlock> blocks_of(const BoundOptions& options) {
  std::vector<OptionBlock> blocks;
  std::optional<std::string_view> group;
  std::size_t first = 0;  // block of the group
  for (const BoundOption& option : options) {
    if (option.group != group) {
      group = option.group;
      first = blocks.size();
      blocks.push_back({.heading = std::string(option.group)});
    }
    const std::vector<const Condition*> chain = chain_of(options, option);
    const std::string title(group->empty() ? "Options" : *group);
    const std::string heading = chain.empty() ? std::string(*group) : title + ", only " + in_words(*chain.back());
    auto block = std::find_if(blocks.begin() + static_cast<std::ptrdiff_t>(first), blocks.end(),
                              [&](const OptionBlock& known) { return known.heading == heading; });
    if (block == blocks.end()) block = blocks.insert(block, {.heading = heading});
    const bool is_inner = chain.size() > 1;
    block->entries.push_back({&option, is_inner ? condition_text(options, option) + ": " : std::string()});
  }
  std::erase_if(blocks, [](const OptionBlock& block) { return block.entries.empty(); });
  return blocks;
}

std::string condition_text(const BoundOptions& options, const BoundOption& option) {
  const std::vector<const Condition*> chain = chain_of(options, option);
  return chain.empty() ? std::string() : "only " + in_words(*chain.front());
}

}  // namespace attend
