// The current time, as written into files.
#pragma once

#include <string>

namespace attend {

// The current second in UTC, as ISO 8601: 2026-01-31T23:59:59Z.
std::string now_utc();

}  // namespace attend
