// Standard output and standard error, which may be pipes that nobody reads: a writer waits until there is room, or
// until a signal asks to stop (core/signals.hpp).
#pragma once

#include <cstddef>
#include <string_view>

namespace attend::output {

enum class Written { all, interrupted, failed };  // failed: errno says why

// Writes all of `text`; interrupted where the reader does not read and a signal asked to stop.
Written write(int descriptor, std::string_view text);

// The colours that standard output shows: none unless it is a terminal, or where NO_COLOR is set (no-color.org).
enum class Colours { none, of_256, of_24_bits };
Colours colours();

// The columns of the terminal that standard output is; 80 where it is none.
std::size_t columns();

// From now on std::cout writes through write(): UserError where it fails, Interrupted where it was interrupted. On a
// terminal each line appears at once.
void replace_cout();

}  // namespace attend::output
