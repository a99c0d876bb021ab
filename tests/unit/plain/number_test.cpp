#include "core/text.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

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

TEST(Number, IsWrittenForPeople) {
  EXPECT_EQ(fixed(1234567.891, 1), "1,234,567.9");
  EXPECT_EQ(fixed(-0.04, 1), "0.0");
  EXPECT_EQ(fixed(-999.5, 0), "−1,000");
  EXPECT_EQ(fixed(std::numeric_limits<double>::quiet_NaN(), 1), "–");
  EXPECT_EQ(compact(1'234'000), "1.23 M");
  EXPECT_EQ(compact(999'999), "1 M");
  EXPECT_EQ(compact(20'000), "20 k");
  EXPECT_EQ(compact(0), "0");
  EXPECT_EQ(fixed(519'287'680'197'357'632.0, 3), "5.19e+17");
  EXPECT_EQ(four_digits(0.90625), "0.9062");
  EXPECT_EQ(four_digits(9.562e-05), "0.0001");
  EXPECT_EQ(four_digits(12'345.6), "12,346");
  EXPECT_EQ(counted(1, "line"), "1 line");
  EXPECT_EQ(counted(12'000, "batch"), "12,000 batches");
}

}  // namespace
}  // namespace attend
