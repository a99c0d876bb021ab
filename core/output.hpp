// Standard output and standard error, which may be pipes that nobody reads at the moment: a write blocks until there is
// room or a signal requests a stop (core/signals.hpp).
#pragma once

#include <cstddef>
#include <string_view>

namespace attend::output {

enum class Written { all, interrupted, failed };  // failed: errno has the reason

// Writes all of `text`; `interrupted` if the pipe was full when a signal requested a stop.
Written write(int descriptor, std::string_view text);

// The colours supported by standard output: none unless it is a terminal, or if NO_COLOR is set (no-color.org).
enum class Colours { none, of_256, of_24_bits };
Colours colours();

// The width of the terminal on a descriptor; 80 if it is not a terminal.
std::size_t columns(int descriptor);

// From now on std::cout writes through write(): it throws UserError on failure and Interrupted when interrupted. On a
// terminal each line appears at once.
void replace_cout();

}  // namespace attend::output
