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

// A number for people: "1,234.5"; with decimals from 10^7 on "1.23e+07"; "–" where it is not finite.
std::string fixed(double value, int decimals);
std::string fixed(std::int64_t count);
// The same with at most three digits and a unit: 1,234,000 is "1.23 M".
std::string compact(double value);

// The same with four digits and no exponent: "0.9062", "32.15", "12,346"; 0.00009 is "0.0001".
std::string four_digits(double value);

// 1 and "line" as "1 line", 3000 and "line" as "3,000 lines", 3 and "batch" as "3 batches".
std::string counted(std::int64_t count, std::string_view noun);

}  // namespace attend
