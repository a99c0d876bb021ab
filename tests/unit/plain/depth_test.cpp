// The watched updates of a comparison: charts, tables and report.json.
#include <gtest/gtest.h>

#include <algorithm>
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
#include "tests/support/comparison.hpp"

namespace attend {
namespace {

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
