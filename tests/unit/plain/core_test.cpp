// What everything stands on: numbers, time, progress, and how deeply text may be nested.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/chart.hpp"
#include "analysis/report/json.hpp"
#include "analysis/report/page.hpp"
#include "analysis/report/sections.hpp"
#include "core/json.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "tests/support/comparison.hpp"

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

TEST(Clock, WritesThisSecondInUtc) {
  const std::string text = now_utc();
  EXPECT_THAT(text,
              testing::MatchesRegex("[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]Z"));
  std::tm parts{};
  ASSERT_NE(strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts), nullptr);
  EXPECT_NEAR(static_cast<double>(timegm(&parts)), static_cast<double>(std::time(nullptr)), 60);
}

// The text of progress lines, and where they appear. On a terminal they are tested by system.progress.

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

// The watched updates of a comparison: charts, tables and report.json.

// Layers on one axis, whatever their number, with the time steps that were probed.
TEST(Depth, WatchedUpdatesShareOneAxis) {
  Comparison it = SyntheticComparison().value();
  const auto figure_of = [&]() -> std::optional<Figure> {
    for (const Section& section : section_report(it).sections) {
      for (const Block& block : section.blocks) {
        const auto* figure = std::get_if<Figure>(&block);
        if (figure != nullptr && figure->title == "Gradients and hidden states by depth") return *figure;
      }
    }
    return std::nullopt;
  };
  const std::optional<Figure> both = figure_of();
  ASSERT_TRUE(both);
  ASSERT_EQ(both->charts.size(), 4U) << "first and last";
  const auto& gradient = std::get<LineChart>(both->charts[0]);
  const auto points_of = [](const LineChart& chart, const std::string& name) {
    std::vector<std::pair<double, double>> points;
    for (const Series& series : chart.series) {
      if (series.name != name) continue;
      for (const Point& point : series.points) points.emplace_back(point.x, point.y);
    }
    return points;
  };
  using Points = std::vector<std::pair<double, double>>;
  EXPECT_EQ(points_of(gradient, it.systems[0].name + ", encoder"), (Points{{1, 1}}));
  EXPECT_EQ(points_of(gradient, it.systems[2].name + ", decoder"), (Points{{0, 0.2}, {0.5, 0.4}, {1, 1}}));
  EXPECT_TRUE(points_of(gradient, it.systems[1].name + ", time steps").empty()) << "it was not watched";
  const Points steps = points_of(gradient, it.systems[0].name + ", time steps");
  ASSERT_EQ(steps.size(), 23U) << "those without pairs are no steps";
  EXPECT_EQ(steps.back(), (std::pair{1.0, 1.0}));
  EXPECT_EQ(steps.front(), (std::pair{0.0, it.probe->systems[0].reach[0].by_distance[22]}));
  const Points ranks = points_of(std::get<LineChart>(both->charts[3]), it.systems[2].name + ", encoder");
  ASSERT_EQ(ranks.size(), 4U) << "the input and three layers";
  EXPECT_EQ(ranks.front(), (std::pair{0.0, 0.9}));
  EXPECT_EQ(ranks.back().second, it.systems[2].runs[0].watched[1].stacks[0].rank_one[3]);
  const nlohmann::json saved = parse_json(report_json(it), "report.json")["systems"][2]["runs"][0]["watched"];
  EXPECT_EQ(saved[1]["update"], 2'400);
  EXPECT_EQ(saved[0]["stacks"][1]["place"], "decoder");
  EXPECT_EQ(saved[0]["stacks"][1]["gradient"], nlohmann::json::parse("[0.4, 0.8, 2.0]"));
  EXPECT_EQ(saved[0]["stacks"][0]["rank_one"][0], 0.9);
  EXPECT_NE(report_page(section_report(it)).find("Gradient by depth, last watched update"), std::string::npos);
  it.probe = std::nullopt;
  for (System& system : it.systems) {
    for (MeasuredRun& run : system.runs) run.watched.resize(std::min<std::size_t>(run.watched.size(), 1));
  }
  const std::optional<Figure> single = figure_of();
  ASSERT_TRUE(single);
  EXPECT_EQ(single->charts.size(), 2U) << "a single watched update is the last";
  EXPECT_EQ(single->numbers.rows.size(), 2U * 2 + 2 * 4);
  for (System& system : it.systems) {
    for (MeasuredRun& run : system.runs) run.watched.clear();
  }
  EXPECT_FALSE(figure_of());
  EXPECT_NE(report_markdown(section_report(it)).find("Nothing was recorded by depth"), std::string::npos);
}

}  // namespace
}  // namespace attend
