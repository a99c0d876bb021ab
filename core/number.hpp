// Numbers in text.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attend {

// Parses all of `text` as a number, in the C locale, with or without a sign; nullopt if it is not a number, does not
// fit the type or is not finite.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if constexpr (std::floating_point<Number>) {
    if (!std::isfinite(value)) return std::nullopt;
  }
  return value;
}

// 1 and "line" as "1 line", 3 and "line" as "3 lines", 3 and "batch" as "3 batches".
inline std::string counted(std::int64_t count, std::string_view noun) {
  const char* ending = noun.ends_with("s") || noun.ends_with("ch") ? "es" : "s";
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : ending);
}

}  // namespace attend
