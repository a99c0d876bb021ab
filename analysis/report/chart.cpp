#include "analysis/report/chart.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/report/characters.hpp"
#include "core/text.hpp"

namespace attend {
namespace {

constexpr double kLetter = 7.2;      // upper estimate of the mean width at the charts' font size
constexpr double kLeastWidth = 370;  // on a small screen; narrower ones scroll, so that text remains readable
constexpr std::size_t kColours = 7;
constexpr std::size_t kMostMarks = 16;  // of a series

struct Frame {
  double left, right, top, bottom;
};

// Ticks at 1, 2 or 5 times a power of ten, covering [low, high]; at least `least_step` apart.
struct Axis {
  double low = 0;
  double high = 1;
  double step = 0.25;

  Axis(double from, double to, double least_step = 0) {
    if (!(to > from)) {
      const double around = from == 0 ? 1 : std::abs(from) * 0.1;
      from -= around;
      to += around;
    }
    const double raw = (to - from) / 4;
    const double power = std::pow(10, std::floor(std::log10(raw)));
    step = std::max(least_step, power * (raw / power > 5 ? 10 : raw / power > 2 ? 5 : raw / power > 1 ? 2 : 1));
    low = std::floor(from / step + 1e-9) * step;
    high = std::ceil(to / step - 1e-9) * step;
  }

  std::vector<double> ticks() const {
    std::vector<double> values;
    for (int i = 0; low + i * step <= high + step * 1e-6; ++i) values.push_back(low + i * step);
    return values;
  }
  std::string name(double value) const {
    if (std::abs(value) < step / 2) return "0";
    if (std::max(std::abs(low), std::abs(high)) >= 10'000) return compact(value);
    return fixed(value, step >= 1 ? 0 : static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  }
  double at(double value, double begin, double end) const {
    return begin + (value - low) / (high - low) * (end - begin);
  }
};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void take(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

std::string text_at(double x, double y, std::string_view style, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>", x, y, style, escaped(text));
}

std::string line(double x1, double y1, double x2, double y2, std::string_view style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>", x1, y1, x2, y2,
                     style);
}

// A circle, square, triangle or diamond.
std::string mark(double x, double y, std::size_t colour, std::string_view title) {
  std::string shape;
  switch (colour % 4) {
    case 0: shape = fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"", x, y); break;
    case 1:
      shape = fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"6.4\" height=\"6.4\"", x - 3.2, y - 3.2);
      break;
    case 2: shape = fmt::format("<path d=\"M{:.1f} {:.1f}l4 7h-8z\"", x, y - 4.3); break;
    default: shape = fmt::format("<path d=\"M{:.1f} {:.1f}l4.4 4.4l-4.4 4.4l-4.4 -4.4z\"", x, y - 4.4);
  }
  return fmt::format("{} class=\"mark c{}\"><title>{}</title></{}>", shape, colour % kColours, escaped(title),
                     shape.substr(1, shape.find(' ') - 1));
}

std::string opened(std::string_view title, double width, double height) {
  return fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {0:.0f} {1:.0f}\" style=\"width:{0:.0f}px;min-width:{2:.0f}px\" "
      "role=\"img\"><title>{3}</title>",
      width, height, std::min(width, kLeastWidth), escaped(title));
}

std::size_t letters(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; });
}

// The vertical lines and numbers of an axis along x.
std::string x_axis(const Axis& axis, const Frame& frame, std::string_view label) {
  std::string drawn;
  for (const double tick : axis.ticks()) {
    const double x = axis.at(tick, frame.left, frame.right);
    const std::string name = axis.name(tick);
    drawn += line(x, frame.top, x, frame.bottom, "grid");
    drawn += text_at(std::min(x, kChartWidth - static_cast<double>(letters(name)) * kLetter / 2), frame.bottom + 16,
                     "text-anchor=\"middle\"", name);
  }
  return drawn +
         text_at((frame.left + frame.right) / 2, frame.bottom + 34, "text-anchor=\"middle\" class=\"label\"", label);
}

std::string drawn(const LineChart& chart) {
  Range xs, ys;
  bool are_counts = true;  // such as layers, between which nothing is
  for (const Series& series : chart.series) {
    for (const Point& point : series.points) {
      if (!std::isfinite(point.x) || !std::isfinite(point.y)) continue;
      are_counts = are_counts && point.x == std::floor(point.x);
      xs.take(point.x);
      ys.take(point.y);
    }
  }
  if (xs.empty()) return {};
  if (chart.diagonal) xs = ys = {0, 1};
  Axis x(xs.low, xs.high, are_counts ? 1 : 0);
  const Axis y(ys.low, ys.high);
  if (xs.high > xs.low) x.high = xs.high;  // the last point is at the end
  std::size_t widest = 0;
  for (const double tick : y.ticks()) widest = std::max(widest, letters(y.name(tick)));
  const Frame frame{static_cast<double>(widest) * kLetter + 30, kChartWidth - 16, 12, kLineChartHeight - 44};

  std::string out = opened(chart.title, kChartWidth, kLineChartHeight) + x_axis(x, frame, chart.x_label);
  for (const double tick : y.ticks()) {
    const double at = y.at(tick, frame.bottom, frame.top);
    out += line(frame.left, at, frame.right, at, "grid");
    out += text_at(frame.left - 6, at + 4, "text-anchor=\"end\"", y.name(tick));
  }
  const double middle = (frame.top + frame.bottom) / 2;
  out += text_at(13, middle,
                 fmt::format("text-anchor=\"middle\" class=\"label\" transform=\"rotate(-90 13 {:.1f})\"", middle),
                 chart.y_label);
  out += line(frame.left, frame.bottom, frame.right, frame.bottom, "axis");
  out += line(frame.left, frame.bottom, frame.left, frame.top, "axis");
  if (chart.diagonal) out += line(frame.left, frame.bottom, frame.right, frame.top, "diagonal");
  for (const Series& series : chart.series) {
    std::string path, marks;
    // A line of many points has a mark at every k-th, so that its dash pattern remains visible.
    const std::size_t every = (series.points.size() + kMostMarks - 1) / kMostMarks;
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      const Point& point = series.points[i];
      if (!std::isfinite(point.x) || !std::isfinite(point.y)) continue;
      const double px = x.at(point.x, frame.left, frame.right), py = y.at(point.y, frame.bottom, frame.top);
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", px, py);
      if (i % every != 0) continue;
      const auto value = [](double v) {
        return std::abs(v) >= 10'000 ? compact(v) : fixed(v, std::abs(v) < 100 ? 3 : 0);
      };
      marks += mark(
          px, py, series.colour,
          fmt::format("{}\n{}: {}\n{}: {}", series.name, chart.x_label, value(point.x), chart.y_label, value(point.y)));
    }
    if (path.empty()) continue;
    out += fmt::format("<path d=\"{}\" class=\"line c{} d{}\"/>{}", path, series.colour % kColours, series.dash % 4,
                       marks);
  }
  return out + "</svg>";
}

std::string drawn(const PointChart& chart) {
  Range values;
  std::size_t longest = 0;
  for (const std::string& group : chart.groups) longest = std::max(longest, letters(group));
  for (const PointChart::Row& row : chart.rows) {
    for (const auto& value : row.values) {
      if (!value) continue;
      values.take(value->value);
      values.take(value->low);
      values.take(value->high);
    }
  }
  if (values.empty()) return {};
  constexpr std::size_t kMostLetters = 24;
  constexpr double kRow = 13, kGap = 12;
  const Axis axis(values.low, values.high);
  const double group_height = kRow * static_cast<double>(chart.rows.size()) + kGap;
  const Frame frame{static_cast<double>(std::min(longest, kMostLetters)) * kLetter + 14, kChartWidth - 18, 8,
                    8 + group_height * static_cast<double>(chart.groups.size())};

  std::string out = opened(chart.title, kChartWidth, frame.bottom + 42) + x_axis(axis, frame, chart.x_label);
  for (std::size_t g = 0; g < chart.groups.size(); ++g) {
    const double top = frame.top + group_height * static_cast<double>(g);
    if (g > 0) out += line(frame.left, top, frame.right, top, "grid");
    out += text_at(frame.left - 8, top + group_height / 2 + 4, "text-anchor=\"end\"",
                   join(abbreviated(characters_of(chart.groups[g]), kMostLetters)));
    for (std::size_t r = 0; r < chart.rows.size(); ++r) {
      const PointChart::Row& row = chart.rows[r];
      const std::optional<Estimate> value = g < row.values.size() ? row.values[g] : std::nullopt;
      if (!value || !std::isfinite(value->value)) continue;
      const double y = top + kGap / 2 + kRow * (static_cast<double>(r) + 0.5);
      std::string title = fmt::format("{}, {}: {}", row.name, chart.groups[g], fixed(value->value, 2));
      if (std::isfinite(value->low) && std::isfinite(value->high)) {
        out += line(axis.at(value->low, frame.left, frame.right), y, axis.at(value->high, frame.left, frame.right), y,
                    fmt::format("line c{}", row.colour % kColours));
        title += fmt::format(" ({} to {})", fixed(value->low, 2), fixed(value->high, 2));
      }
      out += mark(axis.at(value->value, frame.left, frame.right), y, row.colour, title);
    }
  }
  out += line(frame.left, frame.bottom, frame.right, frame.bottom, "axis");
  return out + "</svg>";
}

}  // namespace

std::string svg(const Chart& chart) {
  return std::visit([](const auto& it) { return drawn(it); }, chart);
}

std::string legend(const Chart& chart) {
  std::string keys;
  const auto add = [&](const std::string& name, std::size_t colour, const std::string& path) {
    keys += fmt::format(
        "<li><svg viewBox=\"0 0 34 12\" width=\"34\" height=\"12\" aria-hidden=\"true\">{}{}</svg> <span "
        "dir=\"auto\">{}</span></li>",
        path, mark(17, 6, colour, name), escaped(name));
  };
  if (const auto* lines = std::get_if<LineChart>(&chart)) {
    for (const Series& it : lines->series) {
      add(it.name, it.colour,
          fmt::format("<path d=\"M1 6H33\" class=\"line c{} d{}\"/>", it.colour % kColours, it.dash % 4));
    }
  } else {
    for (const PointChart::Row& row : std::get<PointChart>(chart).rows) add(row.name, row.colour, "");
  }
  return keys.empty() ? keys : "<ul class=\"legend\">" + keys + "</ul>";
}

}  // namespace attend
