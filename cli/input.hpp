// Lines that a command reads and answers: from a file, a pipe or a person.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>

#include "core/options.hpp"
#include "data/text/lines.hpp"

namespace attend {

struct LineOptions {
  bool line_buffered = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("line-buffered", self.line_buffered,
          {.help = "answer each line before the next is read, as on a terminal; slower than many lines together"});
  }

  // Whether somebody waits for the answer to each line of `input`.
  bool at_once(const std::string& input) const { return line_buffered || (input == "-" && isatty(STDIN_FILENO) != 0); }
};

// Calls add(line) with the lines that an encoder answers together: one `at_once`, else up to 1,024 or a megabyte. False
// when there were none left.
template <class Add>
bool read_together(LineReader& reader, bool at_once, const Add& add) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  const std::size_t most = at_once ? 1 : 1024;
  std::size_t lines = 0, bytes = 0;
  for (std::string line; lines < most && bytes < kBytes && reader.next(line); ++lines) {
    bytes += line.size();
    add(line);
  }
  return lines > 0;
}

}  // namespace attend
