// Options that are required, and options that apply only with certain values of others, as declared by Option::required
// and Option::only: checks of both, and the headings in --help and in files.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/options.hpp"

namespace attend {

// False if the condition of `option` fails, or that of the option it names, and so on. `facts` has the values of facts,
// such as {"tasks of kind": "spans"}. A condition on an unknown option or fact holds.
bool applies(const BoundOptions& options, const BoundOption& option, const OptionTexts& facts = {});

// Names an option in a message: "--scope", or its file and line. Empty if it was not given.
using OptionPlace = std::function<std::string(std::string_view)>;
std::string option_place(std::string_view name);        // "option NAME", for values of any origin
OptionPlace given_place(const OptionOrigins& origins);  // the origins of options that were given

// Throws UserError for the first option that has a place and differs from its default but does not apply.
void refuse_inapplicable(const BoundOptions& options, const OptionTexts& defaults, const OptionPlace& place,
                         const OptionTexts& facts = {});
template <class Config>
void refuse_inapplicable(const Config& config, const OptionPlace& place, const OptionTexts& facts = {}) {
  refuse_inapplicable(bind(config), default_texts<Config>(), place, facts);
}

// Throws UserError if a required option is empty; the message begins with `before`, the remedy names `command`.
void check_required(const BoundOptions& options, std::string_view command, const std::string& before = {});

// Throws UserError if an option was given, which "has no meaning " and `why`.
void refuse_given(std::string_view option, const OptionOrigins& origins, const std::string& why);
void refuse_any_given(std::initializer_list<const char*> options, const OptionOrigins& origins, const std::string& why);

// Throws UserError unless an option names two files: a source and its translation.
void check_two_files(const std::string& option, const std::vector<std::string>& files, const OptionOrigins& origins);

// The options of a group that share their outermost condition; those without a condition come first.
struct OptionBlock {
  struct Entry {
    const BoundOption* option;
    std::string condition;  // "only --score location: " if it is not the outermost one
  };
  std::string heading;  // "Model, only --model transformer"
  std::vector<Entry> entries = {};
};
std::vector<OptionBlock> blocks_of(const BoundOptions& options);

// The condition of an option, if it has one among these options: "only --score location".
std::string condition_text(const BoundOptions& options, const BoundOption& option);

}  // namespace attend
