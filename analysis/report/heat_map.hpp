// A matrix with named rows and columns as a picture: shades on a terminal, or SVG.
//
//   HeatMap map{.title = "attention to the source, layer 0", .row_axis = "target", .column_axis = "source",
//               .rows = {"ein", "Hund"}, .columns = {"a", "dog"}, .values = {0.9, 0.1, 0.2, 0.8}};
//
//   attention to the source, layer 0
//   down: target, across: source
//        a d
//          o
//          g
//    ein █
//   Hund   ▓
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/chart.hpp"
#include "analysis/report/comparison.hpp"
#include "core/log.hpp"

namespace attend {

struct HeatMap {
  std::string title;
  std::string row_axis;
  std::string column_axis;
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  std::vector<float> values;  // row by row
  float low = 0;              // the value of the lightest shade, and of the darkest
  float high = 1;
};

// The map of one head, or, without `head`, of the mean of the layer's heads.
HeatMap heat_map(const AttentionMaps& maps, std::int64_t layer, std::optional<std::int64_t> head);

struct TextStyle {
  std::size_t width = 80;  // columns of the terminal
  output::Colours colours = output::Colours::none;
};

// Lines of text, none wider than the terminal. Names of columns read downwards. Names are abbreviated, and columns that
// do not fit are left out, as a last line reports.
std::string to_text(const HeatMap& map, const TextStyle& style);

// Pictures below each other in one SVG document.
class SvgPage {
 public:
  // A line of text.
  void add_heading(const std::string& text);
  void add(const HeatMap& map);
  // Every layer and head of a sentence as small maps without names: layers down, heads across.
  void add_all(const AttentionMaps& maps, const std::string& title);
  // All series have one colour.
  void add(const LineChart& chart);
  std::string document() const;

 private:
  void text(double x, double y, const std::string& text, const std::string& attributes = {});
  void cells(const HeatMap& map, double x, double y, double cell);
  void legend(const HeatMap& map, double x, double y);

  std::string body_;
  double width_ = 0;
  double height_ = 12;
};

}  // namespace attend
