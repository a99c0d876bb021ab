#include "analysis/report/bytes.hpp"

#include <zlib.h>

#include "core/error.hpp"

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

std::string deflated(std::string_view bytes) {
  uLongf size = compressBound(bytes.size());
  std::string stream(size, '\0');
  const int code = compress2(reinterpret_cast<Bytef*>(stream.data()), &size,
                             reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), Z_BEST_COMPRESSION);
  ensure(code == Z_OK, "zlib deflates into a buffer of compressBound bytes");
  stream.resize(size);
  return stream;
}

}  // namespace attend
