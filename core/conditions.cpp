#include "core/conditions.hpp"

#include <algorithm>
#include <iterator>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace attend {
namespace {

// The option that a condition names; nullptr for a fact, and in a struct that is bound alone.
const BoundOption* other_of(const BoundOptions& options, const Condition& condition) {
  return condition.is_on_fact ? nullptr : find_option(options, condition.name);
}

// The conditions of an option, each followed by those of the option it names: the innermost first.
std::vector<const Condition*> chain_of(const BoundOptions& options, const BoundOption& option) {
  std::vector<const Condition*> chain;
  for (const Condition& condition : option.conditions) {
    const BoundOption* other = other_of(options, condition);
    if (other == nullptr && !condition.is_on_fact) continue;
    chain.push_back(&condition);
    if (other != nullptr) std::ranges::copy(chain_of(options, *other), std::back_inserter(chain));
  }
  return chain;
}

bool is_none(std::string_view value) { return value.empty() || value == "auto" || value == "false" || value == "0"; }

bool holds(const Condition& condition, const OptionValue& value) {
  const std::string text = text_of(value);
  const auto* const words = std::get_if<std::vector<std::string>>(&value);
  const bool has_none = words != nullptr ? words->empty() : is_none(text);
  if (condition.is_without) return has_none;
  if (condition.above) return parse_number<double>(text).value_or(0) > static_cast<double>(*condition.above);
  if (condition.values[0].empty()) return !has_none;
  const auto is_allowed = [&](std::string_view word) {
    return std::ranges::find(condition.values, word) != condition.values.end();
  };
  return words != nullptr ? std::ranges::any_of(*words, is_allowed) : is_allowed(text);
}

// "--model fixed", "tasks of kind spans"
std::string spelled(const Condition& condition, const std::string& value) {
  const std::string name = (condition.is_on_fact ? "" : "--") + std::string(condition.name);
  return value.empty() || value == "true" ? name : name + " " + value;
}

// "--model luong, bahdanau", "tasks of kind tags or spans", "calls without --fill-mask", "--beam above 1"
std::string in_words(const Condition& condition) {
  if (condition.is_without) return "calls without " + spelled(condition, "");
  if (condition.above) return spelled(condition, "above " + std::to_string(*condition.above));
  std::string values;
  for (auto value = condition.values.begin(); value != condition.values.end() && !value->empty(); ++value) {
    const bool is_last = value + 1 == condition.values.end() || value[1].empty();
    values += (values.empty() ? "" : condition.is_on_fact && is_last ? " or " : ", ") + std::string(*value);
  }
  return spelled(condition, values);
}

// The outermost condition that fails, and the value that fails it.
struct Failure {
  const Condition* condition;
  FactValue found;

  // "with --model fixed", "without --alignment", "for tasks of kind spans"
  std::string in_words(const OptionTexts& defaults) const {
    const auto& [value, because] = found;
    if (condition->is_on_fact)
      return "for " + spelled(*condition, value) + (because.empty() ? "" : " (" + because + ")");
    const bool needs_any = condition->values[0].empty() && !condition->is_without;
    const auto usual = defaults.find(std::string(condition->name));
    const bool is_usual = usual != defaults.end() && usual->second == value;
    if (needs_any && is_none(value) && (value != "0" || is_usual)) return "without " + spelled(*condition, "");
    return "with " + spelled(*condition, value);
  }
};

std::optional<Failure> failure_of(const BoundOptions& options, const BoundOption& option, const Facts& facts) {
  std::optional<Failure> failure;
  for (const Condition* condition : chain_of(options, option)) {
    if (const BoundOption* other = other_of(options, *condition)) {
      if (!holds(*condition, other->get())) failure = {condition, {text_of(other->get())}};
    } else if (const auto fact = facts.find({condition->name}); fact != facts.end()) {
      if (!holds(*condition, fact->second.value)) failure = {condition, fact->second};
    }
  }
  return failure;
}

}  // namespace

bool applies(const BoundOptions& options, const BoundOption& option, const Facts& facts) {
  return !failure_of(options, option, facts);
}

std::optional<bool> applies_as_given(const BoundOptions& options, const BoundOption& option, const Facts& facts,
                                     const OptionOrigins& origins) {
  std::optional<bool> applies;
  for (const Condition* condition : chain_of(options, option)) {
    const BoundOption* other = other_of(options, *condition);
    const auto fact = condition->is_on_fact ? facts.find({condition->name}) : facts.end();
    if (other != nullptr ? !origins.given(other->name) : fact == facts.end()) continue;
    applies = applies.value_or(true) && holds(*condition, other != nullptr ? other->get() : fact->second.value);
  }
  return applies;
}

std::string option_place(std::string_view name) { return "option " + std::string(name); }

OptionPlace given_place(const OptionOrigins& origins) {
  return [&origins](std::string_view name) { return origins.given(name) ? origins(name) : std::string(); };
}

void refuse_inapplicable(const BoundOptions& options, const OptionTexts& defaults, const OptionPlace& place,
                         const Facts& facts) {
  for (const BoundOption& option : options) {
    const auto failure = failure_of(options, option, facts);
    const std::string where = failure ? place(option.name) : std::string();
    if (where.empty() || text_of(option.get()) == defaults.at(std::string(option.name))) continue;
    throw UserError(where + " has no meaning " + failure->in_words(defaults),
                    "leave it out; it is only for " + in_words(*failure->condition));
  }
}

void check_files(const BoundOptions& options, const OptionOrigins& origins, const Facts& facts) {
  std::string_view reader;
  std::vector<std::pair<std::string_view, std::string>> written;  // by these options
  const auto check = [&](const BoundOption& option, std::string file) {
    const std::string name(option.name);
    if (option.traits.placeholder.find('=') != std::string_view::npos) file.erase(0, file.find('=') + 1);
    if (option.traits.file == FileUse::write) {
      if (file == "-") throw UserError(origins(name) + " is -, but standard output carries the results", "name a file");
      for (const auto& [other, its_file] : written) {
        if (!same_file(file, its_file)) continue;
        throw UserError(other == name ? origins(name) + ": " + file + " is given twice"
                                      : origins(name) + " is the file of " + origins(other),
                        "name two files");
      }
      written.emplace_back(option.name, file);
    } else if (file == "-") {
      if (!reader.empty()) {
        throw UserError(
            origins(name) + ": standard input (-) can be read only once, and --" + std::string(reader) + " reads it",
            "write all but one of the texts to files");
      }
      reader = option.name;
    }
  };
  for (const BoundOption& option : options) {
    if (option.traits.file == FileUse::none || !applies(options, option, facts)) continue;
    const OptionValue value = option.get();
    if (const auto* const file = std::get_if<std::string>(&value); file != nullptr && !file->empty())
      check(option, *file);
    const auto* const files = std::get_if<std::vector<std::string>>(&value);
    for (const std::string& file : files != nullptr ? *files : std::vector<std::string>()) check(option, file);
  }
}

void check_required(const BoundOptions& options, std::string_view command, const std::string& before,
                    const std::string& example) {
  for (const BoundOption& option : options) {
    if (!option.traits.required || !text_of(option.get()).empty()) continue;
    std::string spelling = "--" + std::string(option.name);
    if (option.traits.positional) spelling = std::string(option.traits.placeholder) + " (or " + spelling + ")";
    throw UserError(std::string(command) + ": " + before + spelling + " is missing: " + std::string(option.traits.help),
                    (example.empty() ? "`" : "such as `" + std::string(command) + " " + example + "`; `") +
                        std::string(command) + " --help` lists the options");
  }
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
    const Condition* const shared = chain.empty() ? nullptr : chain.back();
    if (block == blocks.end()) block = blocks.insert(block, {.heading = heading, .shared = shared});
    const std::string others = conditions_text(options, option, shared);
    block->entries.push_back({&option, others.empty() ? "" : others + ": "});
  }
  std::erase_if(blocks, [](const OptionBlock& block) { return block.entries.empty(); });
  return blocks;
}

std::string conditions_text(const BoundOptions& options, const BoundOption& option, const Condition* shown) {
  std::string text;
  for (const Condition& condition : option.conditions) {
    if (&condition == shown || (other_of(options, condition) == nullptr && !condition.is_on_fact)) continue;
    text += (text.empty() ? "only " : " and ") + in_words(condition);
  }
  return text;
}

}  // namespace attend
