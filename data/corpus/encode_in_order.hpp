// Text to ids on all processors, in the order of the lines.
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

// Encodes every line that `reader` gives, and hands it over to take(line, encoded) with what was made of it.
// make_encoder() is called by each thread for one of its own. Interrupted when a signal asks to stop; UserError naming
// `file` where a line's number does not fit the 32 bits that a cache has for it.
template <class Line, class Reader, class MakeEncoder, class Take>
void encode_in_order(Reader& reader, const std::string& file, MakeEncoder make_encoder, Take take) {
  constexpr std::size_t kChunkLines = 8192;
  std::vector<Line> lines(kChunkLines);
  std::vector<decltype(make_encoder()(std::declval<const Line&>()))> encoded(kChunkLines);
  for (bool more = true; more;) {
    if (signals::stop_requested()) throw Interrupted("stopped while the text was encoded");
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
