#include "core/number.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace attend {
namespace {

TEST(Number, IsTheWholeText) {
  EXPECT_EQ(parse_number<std::int64_t>("12"), 12);
  EXPECT_EQ(parse_number<std::int64_t>("+12"), 12);
  EXPECT_EQ(parse_number<std::int64_t>("-12"), -12);
  EXPECT_EQ(parse_number<double>("-2.5e-1"), -0.25);
  for (const char* text : {"", "+", "-", "+-1", "++1", " 1", "1 ", "1x", "0x10", "1,5"}) {
    EXPECT_FALSE(parse_number<std::int64_t>(text)) << text;
    EXPECT_FALSE(parse_number<double>(text)) << text;
  }
}

TEST(Number, FitsAndIsFinite) {
  EXPECT_FALSE(parse_number<std::int32_t>("2147483648"));
  EXPECT_EQ(parse_number<std::int32_t>("-2147483648"), -2147483647 - 1);
  EXPECT_FALSE(parse_number<std::uint16_t>("-1"));
  EXPECT_FALSE(parse_number<std::int64_t>("1.5"));
  for (const char* text : {"inf", "-inf", "nan", "1e400"}) EXPECT_FALSE(parse_number<double>(text)) << text;
}

}  // namespace
}  // namespace attend
