// XXH3 of 128 bits: recognises equal bytes. Not for secrets.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace attend {

// 32 hexadecimal digits.
std::string hash_hex(std::span<const std::byte> bytes);
std::string hash_hex_of_file(const std::filesystem::path& path);

}  // namespace attend
