// Bytes: as text, and their hashes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace attend {

// Base64: bytes as text (RFC 4648, section 4).

std::string base64(std::string_view bytes);

// XXH3 with 128 bits, to recognise equal bytes. Not cryptographic.

// The hash as 32 hexadecimal digits.
std::string hash_hex(std::span<const std::byte> bytes);
std::string hash_hex_of_file(const std::filesystem::path& path);
// The hash of the contents of several files, in this order.
std::string hash_hex_of_files(std::span<const std::string> paths);

}  // namespace attend
