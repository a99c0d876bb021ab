// The current time, as written into files.
#pragma once

#include <ctime>
#include <string>

namespace attend {

// The current second in UTC, as ISO 8601: 2026-01-31T23:59:59Z.
inline std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[sizeof "2026-01-31T23:59:59Z"];
  return {text, std::strftime(text, sizeof text, "%FT%TZ", &parts)};
}

}  // namespace attend
