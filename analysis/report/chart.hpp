// Charts as SVG, made here and drawn by any browser without a script: lines, and points with intervals.
//
// Series have the colours of Okabe and Ito (2008), which people with any colour vision can distinguish (classes c0, c1,
// … of report.css), and also differ in shape: marks by system, dash patterns by run. Axes have the colour of the text.
// Every mark has a <title>, which browsers show on hover.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "analysis/report/comparison.hpp"

namespace attend {

struct Point {
  double x = 0;
  double y = 0;
};

struct Series {
  std::string name;
  std::size_t colour = 0;          // the number of a system
  std::size_t dash = 0;            // the number of a run or another variant
  std::vector<Point> points = {};  // those that are not finite are left out
};

struct LineChart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Series> series = {};
  bool diagonal = false;  // draws y = x from 0 to 1 behind the series
};

// Values of groups, one row each, series below each other.
struct PointChart {
  std::string title;
  std::string x_label;
  std::vector<std::string> groups = {};
  struct Row {
    std::string name;
    std::size_t colour = 0;
    std::vector<std::optional<Estimate>> values = {};  // parallel to groups; without an interval low and high are NaN
  };
  std::vector<Row> rows = {};
};

using Chart = std::variant<LineChart, PointChart>;

// Units of the viewBox: about pixels.
inline constexpr double kChartWidth = 440;
inline constexpr double kLineChartHeight = 290;

// An <svg> element. A chart without a single finite value is an empty string.
std::string svg(const Chart& chart);
// The names of a chart's series beside their marks.
std::string legend(const Chart& chart);

}  // namespace attend
