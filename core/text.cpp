#include "core/text.hpp"

#include <spdlog/fmt/fmt.h>

#include <iterator>

namespace attend {

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t here = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t block = 0;
    for (std::size_t k = 0; k < 3; ++k) block = block << 8 | (k < here ? static_cast<std::uint8_t>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) text += k <= here ? kDigits[block >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::string fixed(double value, int decimals) {
  if (!std::isfinite(value)) return "–";
  if (decimals > 0 && std::abs(value) >= 1e7) return fmt::format("{:.2e}", value);
  std::string text = fmt::format("{:.{}f}", std::abs(value), decimals);
  const std::size_t point = std::min(text.find('.'), text.size());
  for (std::size_t at = point; at > 3; at -= 3) text.insert(at - 3, ",");
  const bool is_zero = text.find_first_of("123456789") == std::string::npos;
  return value < 0 && !is_zero ? "−" + text : text;
}

std::string fixed(std::int64_t count) { return fixed(static_cast<double>(count), 0); }

std::string compact(double value) {
  if (!std::isfinite(value)) return "–";
  static constexpr std::string_view kUnits[] = {"", " k", " M", " G", " T", " P"};
  std::size_t unit = 0;
  double size = std::abs(value);
  for (; size >= 999.5 && unit + 1 < std::size(kUnits); size /= 1000) ++unit;
  std::string text = fixed(size, size >= 99.95 || (unit == 0 && size == std::floor(size)) ? 0 : size >= 9.995 ? 1 : 2);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
  }
  return (value < 0 ? "−" : "") + text + std::string(kUnits[unit]);
}

std::string four_digits(double value) {
  if (std::abs(value) >= 1e4) return fixed(value, 0);
  return value == 0 || std::abs(value) >= 1e-4 ? fmt::format("{:.4g}", value) : fixed(value, 4);
}

std::string counted(std::int64_t count, std::string_view noun) {
  const char* ending = noun.ends_with("s") || noun.ends_with("ch") ? "es" : "s";
  return fixed(count) + " " + std::string(noun) + (count == 1 ? "" : ending);
}

}  // namespace attend
