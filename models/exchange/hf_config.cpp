#include "models/exchange/hf_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>

#include "core/error.hpp"

namespace attend {
namespace {

constexpr std::size_t kMostHfConfigBytes = std::size_t{4} << 20;

}  // namespace

HfConfigFile::HfConfigFile(const std::filesystem::path& path, std::string readable)
    : file_(path.string()), readable_(std::move(readable)), json_(read_json(path, kMostHfConfigBytes)) {}

bool HfConfigFile::has(std::string_view key) const {
  const auto found = json_.find(key);
  return found != json_.end() && !found->is_null();
}

std::int64_t HfConfigFile::size(std::string_view key, std::int64_t least, std::int64_t most) const {
  const auto value = get<std::int64_t>(key);
  if (value < least || value > most) {
    refuse(key, std::to_string(value), fmt::format("an integer from {} to {}", least, most));
  }
  return value;
}

double HfConfigFile::number(std::string_view key, double least, double most, double missing) const {
  const double value = get<double>(key, missing);
  if (!(value >= least && value <= most)) refuse(key, json_[key].dump(), fmt::format("from {} to {}", least, most));
  return value;
}

FeedForwardKind HfConfigFile::activation(std::string_view key, std::span<const HfActivation> names) const {
  const auto name = get<std::string>(key);
  const auto found = std::ranges::find(names, name, &HfActivation::first);
  if (found == names.end()) {
    refuse(key, name, fmt::format("one of {}", fmt::join(names | std::views::keys, ", ")));
  }
  return found->second;
}

void HfConfigFile::refuse(std::string_view key, std::string_view found, std::string_view expected) const {
  throw UserError(fmt::format("{}: \"{}\" is {}, expected {}", file_, key, found, expected), readable_);
}

void HfConfigFile::check_flags(std::span<const HfFlag> flags) const {
  for (const HfFlag& flag : flags) {
    const bool value = get<bool>(flag.key, flag.missing);
    if (value != flag.expected) refuse(flag.key, fmt::format("{}", value), fmt::format("{}", flag.expected));
  }
  if (const char* key = "pruned_heads"; has(key) && !json_[key].empty()) refuse(key, json_[key].dump(), "{}");
}

void HfConfigFile::check_form(std::string_view type, std::string_view model, std::span<const HfFlag> flags,
                              std::span<const std::string_view> others) const {
  if (const auto found = get<std::string>("model_type"); found != type) refuse("model_type", found, type);
  check_flags(flags);
  for (const auto& [key, value] : json_.items()) {
    if (value.is_null() || std::ranges::find(flags, key, &HfFlag::key) != flags.end()) continue;
    if (std::ranges::find(others, key) != others.end() || key == "pruned_heads") continue;
    if (std::ranges::find(kHfFieldsWithoutEffect, key) != kHfFieldsWithoutEffect.end()) continue;
    throw UserError(fmt::format("{}: \"{}\" is not a field of {} that attend import knows", file_, key, model),
                    "remove it if it does not change what the model computes");
  }
}

void HfConfigFile::check_number(std::string_view key, double expected) const {
  if (get<double>(key, expected) != expected) refuse(key, json_[key].dump(), fmt::format("{}", expected));
}

void HfConfigFile::check_divisor(std::string_view key, std::string_view of) const {
  const auto value = get<std::int64_t>(key), multiple = get<std::int64_t>(of);
  if (multiple % value != 0) refuse(key, std::to_string(value), fmt::format("a divisor of {}, \"{}\"", multiple, of));
}

std::string_view hf_name_of(FeedForwardKind activation, std::span<const HfActivation> names) {
  const auto found = std::ranges::find(names, activation, &HfActivation::second);
  return found == names.end() ? std::string_view() : found->first;
}

void refuse_hf_form(std::string_view they, std::string_view option, std::string_view text) {
  throw UserError(fmt::format("cannot be exported: Hugging Face's {} no form with {} = {}", they, option, text),
                  "use the model with attend");
}

void check_hf_options(std::string_view they, const OptionTexts& options, const OptionTexts& defaults,
                      std::span<const std::string_view> exported) {
  for (const auto& [name, text] : options) {
    if (text == defaults.at(name) || std::ranges::find(exported, name) != exported.end()) continue;
    refuse_hf_form(they, name, text);
  }
}

void refuse_larger_model(double numbers, std::uintmax_t bytes, const std::filesystem::path& tensors,
                         const std::filesystem::path& config) {
  constexpr double kLeastBytes = 0.5;  // per number: most tensors may be missing
  if (numbers * kLeastBytes <= static_cast<double>(bytes)) return;
  throw UserError(fmt::format("{}: {} bytes, but {} describes {:.0f} M weights", tensors.string(), bytes,
                              config.string(), numbers / 1e6),
                  "use a config.json and tensors of the same model");
}

double least_weights(const StackOptions& stack, std::int64_t vocabulary) {
  const auto width = static_cast<double>(*stack.width), inner = static_cast<double>(*stack.block.feed_forward);
  return width * (static_cast<double>(*stack.layers) * (4 * width + 2 * inner) +
                  static_cast<double>(vocabulary + stack.max_positions));
}

}  // namespace attend
