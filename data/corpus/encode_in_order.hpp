// Encodes text with all processors, keeping the order of the lines.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/parallel.hpp"
#include "core/signals.hpp"

namespace attend {

// Encodes every line of `reader` and passes it to take(line, encoded), in order. Each thread calls make_encoder() for
// each chunk of lines. Throws Interrupted when a signal requests a stop, and UserError naming `file` if a line number
// exceeds the 32 bits of the cache.
template <class Line, class Reader, class MakeEncoder, class Take>
void encode_in_order(Reader& reader, const std::string& file, MakeEncoder make_encoder, Take take) {
  constexpr std::size_t kChunkLines = 8192;
  std::vector<Line> lines(kChunkLines);
  std::vector<decltype(make_encoder()(std::declval<const Line&>()))> encoded(kChunkLines);
  for (bool more = true; more;) {
    signals::throw_if_stopped("stopped while encoding the text");
    std::size_t count = 0;
    while (count < lines.size() && (more = reader.next(lines[count]))) ++count;
    in_parallel(count, [&](std::size_t begin, std::size_t end) {
      auto encode = make_encoder();
      for (std::size_t k = begin; k < end; ++k) encoded[k] = encode(std::as_const(lines[k]));
    });
    for (std::size_t k = 0; k < count; ++k) {
      if (lines[k].line > std::numeric_limits<std::uint32_t>::max()) {
        throw UserError(file + ": more than 4294967295 lines", "split the corpus");
      }
      take(std::as_const(lines[k]), std::as_const(encoded[k]));
    }
  }
}

}  // namespace attend
