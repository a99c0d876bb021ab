// Standard output and standard error, which may be pipes that nobody reads: a writer waits until there is room, or
// until a signal asks to stop (core/signals.hpp).
#pragma once

#include <string_view>

namespace attend::output {

enum class Written { all, interrupted, failed };  // failed: errno says why

// Writes all of `text`; interrupted where the reader does not read and a signal asked to stop.
Written write(int descriptor, std::string_view text);

// From now on std::cout writes through write(): UserError where it fails, Interrupted where it was interrupted. On a
// terminal each line appears at once.
void replace_cout();

}  // namespace attend::output
