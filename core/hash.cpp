#include "core/hash.hpp"

#include <xxhash.h>

#include <cstdio>

#include "core/files.hpp"

namespace attend {

std::string hash_hex(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  std::string digits(32, '0');
  std::snprintf(digits.data(), digits.size() + 1, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return digits;
}

std::string hash_hex_of_file(const std::filesystem::path& path) { return hash_hex(MappedFile(path).bytes()); }

}  // namespace attend
