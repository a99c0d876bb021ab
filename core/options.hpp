// Options, declared once. A config struct names each of its options with help and range in `visit`; flags, TOML files,
// `attend config`, --help, docs/options.md and equality all come from that one list.
//
//   struct ScheduleConfig {
//     ScheduleKind schedule = ScheduleKind::inverse_sqrt;
//     double learning_rate = 5e-4;
//     std::optional<std::int64_t> warmup_steps;  // nullopt: chosen by the program, printed as "auto"
//
//     template <class Self, class Visitor>
//     static void visit(Self& self, Visitor& visit) {
//       visit.group("Learning rate");
//       visit("schedule", self.schedule, {.help = "how the learning rate moves"});
//       visit("learning-rate", self.learning_rate, {.help = "peak learning rate", .min = 0, .max = 10});
//       visit("warmup-steps", self.warmup_steps, {.help = "updates of linear warm-up", .min = 0});
//     }
//   };
//
// A struct that contains others calls their `visit` in turn: ScheduleConfig::visit(self.schedule, visit). Names are
// flat and unique within a command: the flag --learning-rate is the TOML key learning-rate. `group` heads the options
// that follow it, in --help and in files.
//
// An option that applies only with some values of another one declares them: .only = {"model", {"luong", "bahdanau"}};
// so does a group of options: visit.group("Search", without("target")). Refusals and the headings of --help and of
// files follow from that (core/conditions.hpp).
//
// A value is a bool, std::int64_t, double, std::string, std::vector<std::string>, Duration, an enum with kEnumNames, or
// std::optional of one of them ("auto" when empty).
//
// bind(config) lists the options of one object with their types erased; everything else works on that list.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace attend {

// Something that only a running command knows, on which options may depend. Its value completes the name in messages:
// Fact{"tasks of kind"} and "spans".
struct Fact {
  std::string_view name;
  auto operator<=>(const Fact&) const = default;
};

// The value of a fact, and, for messages, why it has this value: "--beam is 1".
struct FactValue {
  std::string value;
  std::string because = {};
};
using Facts = std::map<Fact, FactValue>;

// When an option applies: with some values of another option, declared earlier, or of a fact. Without values: any but
// none, auto, false and 0. The other option may have conditions in turn, or be missing in a struct that is bound alone.
//   {"model", {"luong", "bahdanau"}}   {kTasks, {"spans"}}   {"alignment"}   without("target")   above("beam", 1)
struct Condition {
  using Values = std::array<std::string_view, 8>;  // more do not compile

  constexpr Condition() = default;
  constexpr Condition(std::string_view option, Values allowed = {}) : name(option), values(allowed) {}
  constexpr Condition(Fact fact, Values allowed) : name(fact.name), is_on_fact(true), values(allowed) {}

  std::string_view name = {};  // of the option or fact
  bool is_on_fact = false;
  Values values = {};
  bool is_without = false;                 // the other option has none of its values
  std::optional<std::int64_t> above = {};  // its value is a larger number

  bool operator==(const Condition&) const = default;
};
constexpr Condition without(std::string_view option) {
  Condition condition(option);
  condition.is_without = true;
  return condition;
}
constexpr Condition above(std::string_view option, std::int64_t number) {
  Condition condition(option);
  condition.above = number;
  return condition;
}

// What an option names, if it names files: one that is read, where - is standard input, or one that is written, where -
// would be standard output. In a word NAME=FILE the file follows the name.
enum class FileUse { none, read, write };

// The properties of an option besides its name and value. `min` and `max` are inclusive; they bound numbers and, in
// seconds, durations. `positional`: may also be given without its flag, in the order of declaration. `common`: most
// people set it, so the first page of a long --help has it.
struct Option {
  std::string_view help;
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  std::string_view placeholder = {};  // the value's name in --help: DIR, N; else of its kind
  FileUse file = FileUse::none;
  bool required = false;  // must be given, and not empty
  bool positional = false;
  bool may_change = false;  // when a run is resumed
  bool identifies = true;   // false: runs that differ in it alone are runs of one system
  bool is_input = false;    // names files whose hashes the run records
  bool is_adopted = true;   // with a model's weights; false: it belongs to training, as dropout does
  bool common = false;
  Condition only = {};
};

// A span of time, written 90s, 45m, 1.5h or 2d.
struct Duration {
  double seconds = 0;
  bool operator==(const Duration&) const = default;
};

// The names of an enum, to be specialised for it:
//   template <>
//   inline constexpr auto kEnumNames<Pet> = std::to_array<EnumName<Pet>>({{Pet::cat, "cat"}, {Pet::dog, "dog"}});
template <class E>
using EnumName = std::pair<E, std::string_view>;
template <class E>
inline constexpr std::nullptr_t kEnumNames = nullptr;

template <class E>
constexpr std::string_view name_of(E value) {
  for (const auto& [candidate, name] : kEnumNames<E>) {
    if (candidate == value) return name;
  }
  return "?";
}

// The value of any option: Auto is an empty std::optional, and an enum is stored as its name.
struct Auto {
  bool operator==(const Auto&) const = default;
};
using OptionValue = std::variant<Auto, bool, std::int64_t, double, std::string, std::vector<std::string>, Duration>;
enum class OptionKind { flag, integer, number, text, list, duration, choice };

// One option of one config object.
struct BoundOption {
  std::string_view group;
  std::string_view name;
  Option traits;
  std::vector<Condition> conditions = {};  // Option::only, then that of the group
  OptionKind kind = OptionKind::flag;
  bool may_be_auto = false;
  std::vector<std::string_view> choices = {};        // the names of an enum
  std::function<OptionValue()> get = {};             // reads from the object
  std::function<void(const OptionValue&)> set = {};  // writes to it; absent if the object is const
};
using BoundOptions = std::vector<BoundOption>;

// The option of this name, or nullptr.
auto* find_option(auto& options, std::string_view name) {
  const auto found = std::ranges::find(options, name, &BoundOption::name);
  return found == options.end() ? nullptr : &*found;
}

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

// The visitor behind bind().
class OptionBinder {
 public:
  // Heads the options that follow, all of which have this condition.
  void group(std::string_view title, const Condition& only = {}) {
    group_ = title;
    only_ = only;
  }

  template <class T>
  void operator()(std::string_view name, T& value, const Option& traits) {
    using Stored = std::remove_const_t<T>;
    BoundOption option{.group = group_, .name = name, .traits = traits};
    for (const Condition& condition : {traits.only, only_}) {
      if (!condition.name.empty()) option.conditions.push_back(condition);
    }
    describe<Stored>(option);
    option.get = [&value] { return erase(value); };
    if constexpr (!std::is_const_v<T>) {
      option.set = [&value](const OptionValue& given) { value = restore<Stored>(given); };
    }
    add(std::move(option));
  }

  BoundOptions options;

 private:
  template <class T>
  static void describe(BoundOption& option) {
    if constexpr (kIsOptional<T>) {
      describe<typename T::value_type>(option);
      option.may_be_auto = true;
    } else if constexpr (std::is_enum_v<T>) {
      option.kind = OptionKind::choice;
      for (const auto& [value, name] : kEnumNames<T>) option.choices.push_back(name);
    } else if constexpr (std::is_same_v<T, bool>) {
      option.kind = OptionKind::flag;
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      option.kind = OptionKind::integer;
    } else if constexpr (std::is_same_v<T, double>) {
      option.kind = OptionKind::number;
    } else if constexpr (std::is_same_v<T, std::string>) {
      option.kind = OptionKind::text;
    } else if constexpr (std::is_same_v<T, Duration>) {
      option.kind = OptionKind::duration;
    } else {
      static_assert(std::is_same_v<T, std::vector<std::string>>, "not a type that an option can have");
      option.kind = OptionKind::list;
    }
  }

  template <class T>
  static OptionValue erase(const T& value) {
    if constexpr (kIsOptional<T>) {
      return value ? erase(*value) : Auto{};
    } else if constexpr (std::is_enum_v<T>) {
      return std::string(name_of(value));
    } else {
      return value;
    }
  }

  template <class T>
  static T restore(const OptionValue& given) {
    if constexpr (kIsOptional<T>) {
      return std::holds_alternative<Auto>(given) ? T() : T(restore<typename T::value_type>(given));
    } else if constexpr (std::is_enum_v<T>) {
      const auto& names = kEnumNames<T>;
      const std::string& word = std::get<std::string>(given);
      return std::find_if(names.begin(), names.end(), [&](const auto& entry) { return entry.second == word; })->first;
    } else {
      return std::get<T>(given);
    }
  }

  void add(BoundOption option);  // checks the declaration: kebab-case, unique, with help, conditions on earlier ones

  std::string_view group_;
  Condition only_;
};

// The options of `config` in the order of declaration, referring to its members.
template <class Config>
BoundOptions bind(Config& config) {
  OptionBinder binder;
  std::remove_const_t<Config>::visit(config, binder);
  return std::move(binder.options);
}

// The origin of each option's value, for the messages of later checks.
class OptionOrigins {
 public:
  // "recipe.toml:12: beam", "--beam" or "beam (default)"; "beam (inherited)" after call_others("inherited").
  std::string operator()(std::string_view name) const;
  bool given(std::string_view name) const { return places_.contains(name); }
  void record(std::string_view name, std::string place) {
    places_.insert_or_assign(std::string(name), std::move(place));
  }
  void forget(std::string_view name) { places_.erase(std::string(name)); }
  void call_others(std::string_view origin) { others_ = origin; }

 private:
  std::map<std::string, std::string, std::less<>> places_;
  std::string others_ = "default";
};

// Handling of unknown keys: an error in a user's file, ignored by a reader of some of the options in config.toml.
enum class UnknownKeys { refuse, ignore };

// Sets option `name` from the words of a command line, all those of a list at once. Throws UserError naming --name,
// also if there are no words.
void apply_words(BoundOptions& options, std::string_view name, const std::vector<std::string>& words,
                 OptionOrigins& origins);

// Sets options from a TOML text. Throws UserError naming FILE:LINE.
void apply_toml(BoundOptions& options, std::string_view text, const std::string& file, OptionOrigins& origins,
                UnknownKeys unknown = UnknownKeys::refuse);

// The value as printed in --help and read by apply_words: 0.1, auto, 45m; the words of a list joined by spaces.
std::string text_of(const OptionValue& value);

// The allowed values of an option: "an integer from 1 to 100", "one of greedy, beam".
std::string expected_of(const BoundOption& option);

// Sets each of `ours` that was not given, and that is adopted, to its value in `theirs`, the options of a run in the
// same order.
void adopt_options(const BoundOptions& ours, const BoundOptions& theirs, const OptionOrigins& origins);

// The same for a model whose weights are loaded from `from`. Throws UserError if a given option differs there.
void adopt_model_options(const BoundOptions& ours, const BoundOptions& theirs, const std::string& from,
                         const OptionOrigins& origins);

// A commented TOML file that reads back to equal values.
std::string to_toml(const BoundOptions& options);

// The entry of `names` that `word` probably misspells; empty if none.
std::string_view nearest_name(std::string_view word, const std::vector<std::string_view>& names);

template <class Config>
std::string to_toml(const Config& config) {
  return to_toml(bind(config));
}

// The values of the options for which `counts` holds, as text by name.
using OptionTexts = std::map<std::string, std::string>;
OptionTexts texts_of(
    const BoundOptions& options,
    const std::function<bool(const BoundOption&)>& counts = [](const BoundOption&) { return true; });
template <class Config>
OptionTexts default_texts() {
  const Config config{};
  return texts_of(bind(config));
}

// Maximum size of a config file.
inline constexpr std::size_t kMaxConfigBytes = 1 << 20;

// Sets options from one file. Throws UserError as apply_toml does.
void apply_toml_file(BoundOptions& options, const std::filesystem::path& file, OptionOrigins& origins,
                     UnknownKeys unknown = UnknownKeys::refuse);
template <class Config>
Config read_config(const std::filesystem::path& file, UnknownKeys unknown = UnknownKeys::refuse) {
  Config config;
  BoundOptions options = bind(config);
  OptionOrigins origins;
  apply_toml_file(options, file, origins, unknown);
  return config;
}

// A text in a TOML file that does not describe options, under [table] or, if that is empty, above all tables.
struct PlacedText {
  std::string table = {};
  std::string key = {};
  std::string text = {};
  std::string place = {};  // FILE:LINE
};
// All texts of a file, in order. Throws UserError as apply_toml does, and for values that are not texts.
std::vector<PlacedText> read_placed_texts(const std::filesystem::path& file);

}  // namespace attend
