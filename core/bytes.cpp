#include "core/bytes.hpp"

#include <spdlog/fmt/fmt.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "core/files.hpp"

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

namespace {

std::string digits_of(XXH128_hash_t hash) { return fmt::format("{:016x}{:016x}", hash.high64, hash.low64); }

}  // namespace

std::string hash_hex(std::span<const std::byte> bytes) { return digits_of(XXH3_128bits(bytes.data(), bytes.size())); }

std::string hash_hex_of_file(const std::filesystem::path& path) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_128bits_reset(state.get());
  read_blocks(path,
              [&](std::span<const std::byte> block) { XXH3_128bits_update(state.get(), block.data(), block.size()); });
  return digits_of(XXH3_128bits_digest(state.get()));
}

std::string hash_hex_of_files(std::span<const std::string> paths) {
  std::string hashes;
  for (const std::string& path : paths) hashes += hash_hex_of_file(path) + "\n";
  return hash_hex(std::as_bytes(std::span(hashes)));
}

}  // namespace attend
