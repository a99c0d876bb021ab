// zlib streams (RFC 1950), which a browser's DecompressionStream("deflate") reads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace attend {

std::string deflated(std::string_view bytes);

inline std::string_view as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace attend
