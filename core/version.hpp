// The version of the program.
#pragma once

#include <string_view>

namespace attend {

// "0.1.0 (1a2b3c4)": the release and, if known, the commit at configuration.
std::string_view version();

}  // namespace attend
