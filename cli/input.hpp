// The lines that a command processes, from a file, a pipe or a terminal.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "core/log.hpp"
#include "core/options.hpp"
#include "core/process.hpp"
#include "data/text/lines.hpp"

namespace attend {

struct LineOptions {
  bool line_buffered = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("line-buffered", self.line_buffered,
          {.help = "process each line before reading the next, as on a terminal; slower than batches of lines"});
  }

  // True if each line of `input` is answered before the next is read.
  bool at_once(const std::string& input) const { return line_buffered || (input == "-" && isatty(STDIN_FILENO) != 0); }
};

// The number of lines of all inputs; nullopt if one cannot be counted before it is read.
inline std::optional<std::int64_t> count_all_lines(const std::vector<std::string>& inputs) {
  std::int64_t sum = 0;
  for (const std::string& input : inputs) {
    const auto lines = count_lines(input);
    if (!lines) return {};
    sum += *lines;
  }
  return sum;
}

// The work on all lines of `inputs`, each with `parts` parts. No progress is shown if each line is answered at once.
inline WorkSize work_on_lines(const std::vector<std::string>& inputs, const LineOptions& options,
                              const std::string& unit = "lines", std::int64_t parts = 1) {
  const bool at_once = std::ranges::any_of(inputs, [&](const auto& input) { return options.at_once(input); });
  if (at_once || log::is_quiet()) return {.is_shown = false};
  WorkSize size{.unit = unit, .total = count_all_lines(inputs)};
  if (size.total) *size.total *= parts;
  return size;
}

// The lines of an input. If each is answered before the next is read, next() flushes the answer first.
class InputLines {
 public:
  InputLines(const std::string& input, const LineOptions& options)
      : input_(input), reader_(input), at_once_(options.at_once(input)) {}

  bool at_once() const { return at_once_; }

  // False at the end of the input. Throws Interrupted when a signal requests a stop.
  bool next(std::string& line) {
    if (at_once_) std::cout.flush();
    if (!reader_.next(line)) return false;
    signals::throw_if_stopped("stopped before the end of the input");
    return true;
  }

  // Calls add(line) for the next lines to process together: one, or up to `most`, or a kilobyte for each of these.
  // False at the end of the input.
  template <class Add>
  bool next_together(const Add& add, std::size_t most = 1024) {
    const std::size_t most_bytes = most * 1024;
    if (at_once_) most = 1;
    std::size_t lines = 0, bytes = 0;
    for (std::string line; lines < most && bytes < most_bytes && next(line); ++lines) {
      bytes += line.size();
      add(line);
    }
    return lines > 0;
  }

  // Position of the last line read, "corpus.en:12".
  std::string place() const { return reader_.place(); }
  std::uint64_t num_read() const { return reader_.counts().lines; }
  void log_counts() const { reader_.counts().log(input_); }

 private:
  std::string input_;
  LineReader reader_;
  bool at_once_;
};

}  // namespace attend
