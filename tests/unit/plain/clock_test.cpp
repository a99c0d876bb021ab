#include "core/process.hpp"

#include <gmock/gmock.h>

#include <ctime>

namespace attend {
namespace {

TEST(Clock, WritesThisSecondInUtc) {
  const std::string text = now_utc();
  EXPECT_THAT(text,
              testing::MatchesRegex("[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]Z"));
  std::tm parts{};
  ASSERT_NE(strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts), nullptr);
  EXPECT_NEAR(static_cast<double>(timegm(&parts)), static_cast<double>(std::time(nullptr)), 60);
}

}  // namespace
}  // namespace attend
