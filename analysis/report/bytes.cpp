#include "analysis/report/bytes.hpp"

#include <zlib.h>

#include "core/error.hpp"

namespace attend {

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
