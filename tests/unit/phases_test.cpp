#include "train/pretraining/config.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace attend {
namespace {

TEST(Phases, AreLengthsWithShares) {
  const auto phases = parse_phases({"128:90%", "512@8192:10%"}, "--phase", 4096);
  ASSERT_EQ(phases.size(), 2u);
  EXPECT_EQ(phases[0].length, 128);
  EXPECT_EQ(phases[0].max_tokens, 4096);
  EXPECT_DOUBLE_EQ(phases[0].end, 0.9);
  EXPECT_EQ(phases[1].length, 512);
  EXPECT_EQ(phases[1].max_tokens, 8192);
  EXPECT_DOUBLE_EQ(phases[1].end, 1);
}

TEST(Phases, AreOneWithoutAny) {
  const auto phases = short_first(0, 64, 4096);
  ASSERT_EQ(phases.size(), 1u);
  EXPECT_EQ(phases[0].length, 64);
  EXPECT_EQ(phases[0].max_tokens, 4096);
}

TEST(Phases, ShortOnesFirstAreShorterThanTheRest) {
  const auto phases = short_first(0.2, 128, 4096);
  ASSERT_EQ(phases.size(), 3u);
  EXPECT_EQ(phases[0].length, 16);
  EXPECT_DOUBLE_EQ(phases[0].end, 0.15);
  EXPECT_FALSE(phases[0].pairs);
  EXPECT_EQ(phases[1].length, 32);
  EXPECT_DOUBLE_EQ(phases[1].end, 0.2);
  EXPECT_FALSE(phases[1].pairs);
  EXPECT_EQ(phases[2].length, 128);
  EXPECT_DOUBLE_EQ(phases[2].end, 1);
  EXPECT_TRUE(phases[2].pairs);
  EXPECT_EQ(short_first(0.2, 32, 4096).size(), 2u);
  EXPECT_EQ(short_first(0.2, 16, 4096).size(), 1u);
  EXPECT_EQ(short_first(0, 128, 4096).size(), 1u);
}

TEST(Phases, WhatIsNoneIsRefused) {
  for (const char* text : {"", "128", "128:", "128:%", "128:90", "x:100%", "128@:100%", "128@99:100%", "128:0%",
                           "7:100%", "128:99%", "128:101%", "128:nan%", "-128:100%", "128 :100%", "8192:100%"}) {
    EXPECT_THROW(parse_phases({text}, "--phase", 4096), UserError) << text;
  }
}

}  // namespace
}  // namespace attend
