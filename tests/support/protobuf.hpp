// Models of SentencePiece made by hand.
#pragma once

#include <cstddef>
#include <string>

namespace attend {

// A field of a protocol buffer that holds bytes: key, length, content.
inline std::string field(int number, const std::string& content) {
  std::string bytes(1, static_cast<char>(number << 3 | 2));
  std::size_t size = content.size();
  for (; size >= 128; size >>= 7) bytes += static_cast<char>((size & 127) | 128);
  return bytes + static_cast<char>(size) + content;
}

}  // namespace attend
