// The text of progress lines, and where they appear. On a terminal they are tested by system.progress.
#include "core/log.hpp"

#include <gtest/gtest.h>

namespace attend {
namespace {

TEST(Progress, SaysHowManyHowFastAndTheTimeLeftWhereTheTotalIsKnown) {
  EXPECT_EQ(describe({.total = 1000}, 250, 5), "lines 250/1,000  50 lines/s  left 0:15");
  EXPECT_EQ(describe({.unit = "records", .total = 40'000}, 10, 4), "records 10/40,000  2.5 records/s  left 4:26:36");
  EXPECT_EQ(describe({}, 250, 5), "lines 250  50 lines/s");
  EXPECT_EQ(describe({.total = 10}, 0, 5), "lines 0/10");
  EXPECT_EQ(describe({.total = 5}, 4, 250), "lines 4/5  0.016 lines/s  left 1:03");
  EXPECT_EQ(describe({.total = 1}, 0.25, 60), "lines 0.25/1  0.0042 lines/s  left 3:00");  // a long line
  double tenths = 0;
  for (int i = 0; i < 10; ++i) tenths += 0.1;  // 0.9999999999999999
  EXPECT_EQ(describe({.total = 1}, tenths, 1), "lines 1/1  1 lines/s  left 0:00");
  EXPECT_EQ(describe({.total = 10}, 12, 6), "lines 12/10  2 lines/s  left 0:00");  // the file has grown
}

TEST(Progress, SecondsAreMinutesAndHours) {
  EXPECT_EQ(format_seconds(95), "1:35");
  EXPECT_EQ(format_seconds(7260), "2:01:00");
  EXPECT_EQ(format_seconds(-1), "0:00");
}

TEST(Progress, NothingIsWrittenWithinTheFirstMinuteWithoutATerminal) {
  testing::internal::CaptureStderr();
  WorkProgress progress({.total = 3});
  for (int i = 0; i < 3; ++i) progress.add();
  progress.clear();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace attend
