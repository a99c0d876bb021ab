// Which attend this is.
#pragma once

#include <string_view>

namespace attend {

// "0.1.0 (1a2b3c4)": the release and the commit it was configured from, as far as that is known.
std::string_view version();

}  // namespace attend
