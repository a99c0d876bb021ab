// Options, declared once. A config struct names each of its options with help and range in `visit`; flags, TOML files,
// `attend config`, --help, docs/options.md and equality all come from that one list.
//
//   struct ScheduleConfig {
//     ScheduleKind schedule = ScheduleKind::inverse_sqrt;
//     double learning_rate = 5e-4;
//     std::optional<std::int64_t> warmup_steps;  // nothing: chosen by the program, printed as "auto"
//
//     template <class Self, class Visitor>
//     static void visit(Self& self, Visitor& visit) {
//       visit("schedule", self.schedule, {.help = "how the learning rate moves"});
//       visit("learning-rate", self.learning_rate, {.help = "peak learning rate", .min = 0, .max = 10});
//       visit("warmup-steps", self.warmup_steps, {.help = "updates of linear warm-up", .min = 0});
//     }
//   };
//
// A struct that contains others calls their `visit` in turn: ScheduleConfig::visit(self.schedule, visit). Names are
// flat and unique within a command: the flag --learning-rate is the TOML key learning-rate.
//
// A value is a bool, std::int64_t, double, std::string, std::vector<std::string>, Duration, an enum with EnumNames, or
// std::optional of one of them ("auto" when empty).
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace attend {

// What is said of an option besides its name and value. `min` and `max` are inclusive and bound numbers and, in
// seconds, durations. `positional`: also taken without its flag, in the order of declaration. `hidden`: not part of a
// run's identity nor of config files (paths such as --config itself).
struct Option {
  std::string_view help;
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  std::string_view placeholder = {};  // what --help calls the value: FILE, DIR, N
  bool required = false;
  bool positional = false;
};

// A span of time, written 90s, 45m, 1.5h or 2d.
struct Duration {
  double seconds = 0;
  bool operator==(const Duration&) const = default;
};

// The names of an enum, once: specialise with `static constexpr std::array<std::pair<E, std::string_view>, N> names`.
template <class E>
struct EnumNames;

template <class E>
constexpr std::string_view name_of(E value) {
  for (const auto& [candidate, name] : EnumNames<E>::names) {
    if (candidate == value) return name;
  }
  return "?";
}

}  // namespace attend
