// JSON files with errors that name the file.
#pragma once

#include <concepts>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.hpp"

namespace attend {

// Throws UserError naming `file` if `text` is not JSON, has duplicate keys or exceeds `max_depth`.
nlohmann::json parse_json(std::string_view text, const std::string& file, int max_depth = 32);

// Parses a file; also throws UserError if it is longer than `max_bytes`.
nlohmann::json read_json(const std::filesystem::path& file, std::size_t max_bytes = std::size_t{64} << 20);

// The member `key` of an object. Throws UserError naming `file` and the key if it is missing or of another type; an
// integer must be written as an integer and fit T.
template <class T>
T json_member(const nlohmann::json& object, const std::string& key, const std::string& file) {
  const std::string remedy = "fix the file or use another copy";
  const auto found = object.find(key);
  if (found == object.end()) throw UserError(file + ": \"" + key + "\" is missing", remedy);
  if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    const bool fits = found->is_number_unsigned()
                          ? std::in_range<T>(found->template get<std::uint64_t>())
                          : found->is_number_integer() && std::in_range<T>(found->template get<std::int64_t>());
    if (!fits)
      throw UserError(file + ": \"" + key + "\" is " + found->dump() + ", expected an integer from " +
                          std::to_string(std::numeric_limits<T>::min()) + " to " +
                          std::to_string(std::numeric_limits<T>::max()),
                      remedy);
  }
  try {
    return found->template get<T>();
  } catch (const nlohmann::json::exception&) {
    throw UserError(file + ": \"" + key + "\" has the wrong type, " + found->type_name(), remedy);
  }
}

}  // namespace attend
