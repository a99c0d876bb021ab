#include "core/hash.hpp"

#include <spdlog/fmt/fmt.h>
#include <xxhash.h>

#include <memory>

#include "core/files.hpp"

namespace attend {
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
