// Options that are required, and options that apply only with certain values of others, as declared by Option::required
// and Option::only: checks of both, and the headings in --help and in files.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/options.hpp"

namespace attend {

// False if a condition of `option` fails, or one of the option it names, and so on. A condition on an unknown option or
// fact holds.
bool applies(const BoundOptions& options, const BoundOption& option, const Facts& facts = {});

// What the options that were given, and known facts, say of `option`: false: a condition on them fails, as that of
// --heads after --model luong; true: all hold; nullopt: it has none.
std::optional<bool> applies_as_given(const BoundOptions& options, const BoundOption& option, const Facts& facts,
                                     const OptionOrigins& origins);

// Names an option in a message: "--scope", or its file and line. Empty if it was not given.
using OptionPlace = std::function<std::string(std::string_view)>;
std::string option_place(std::string_view name);        // "option NAME", for values of any origin
OptionPlace given_place(const OptionOrigins& origins);  // the origins of options that were given

// Throws UserError for the first option that has a place and differs from its default but does not apply.
void refuse_inapplicable(const BoundOptions& options, const OptionTexts& defaults, const OptionPlace& place,
                         const Facts& facts = {});
template <class Config>
void refuse_inapplicable(const Config& config, const OptionPlace& place, const Facts& facts = {}) {
  refuse_inapplicable(bind(config), default_texts<Config>(), place, facts);
}

// Throws UserError if standard input (-) would be read for two options or words, a file to write is -, or two are one.
// Options that do not apply name no files.
void check_files(const BoundOptions& options, const OptionOrigins& origins, const Facts& facts = {});

// Throws UserError if a required option is empty; the message begins with `before`, the remedy names `command` and
// shows what may follow it.
void check_required(const BoundOptions& options, std::string_view command, const std::string& before = {},
                    const std::string& example = {});

// Throws UserError unless an option names two files: a source and its translation.
void check_two_files(const std::string& option, const std::vector<std::string>& files, const OptionOrigins& origins);

// The options of a group that share their outermost condition; those without a condition come first.
struct OptionBlock {
  struct Entry {
    const BoundOption* option;
    std::string conditions;  // "only --score location: ", those besides the outermost one
  };
  std::string heading;                // "Model, only --model transformer"
  const Condition* shared = nullptr;  // the condition in it
  std::vector<Entry> entries = {};
};
std::vector<OptionBlock> blocks_of(const BoundOptions& options);

// The conditions of an option that these options can fail, except for the one that is `shown` elsewhere:
// "only --score location and --model luong".
std::string conditions_text(const BoundOptions& options, const BoundOption& option, const Condition* shown = nullptr);

}  // namespace attend
