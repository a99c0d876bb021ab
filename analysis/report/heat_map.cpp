#include "analysis/report/heat_map.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "analysis/report/characters.hpp"
#include "core/error.hpp"

namespace attend {
namespace {

// 0 at the lightest shade, 1 at the darkest.
double darkness(const HeatMap& map, float value) {
  const double range = static_cast<double>(map.high) - static_cast<double>(map.low);
  const double share = range > 0 ? (static_cast<double>(value) - static_cast<double>(map.low)) / range : 0;
  return share > 0 ? std::min(share, 1.0) : 0;  // 0 for NaN
}

struct Colour {
  int red = 0, green = 0, blue = 0;
};

// From white through light to dark blue.
Colour colour_of(double darkness) {
  constexpr Colour kStops[3] = {{255, 255, 255}, {118, 169, 222}, {16, 44, 104}};
  const double place = darkness * 2;
  const auto stop = static_cast<std::size_t>(std::min(place, 1.0));
  const double share = place - static_cast<double>(stop);
  const auto mix = [&](int Colour::*part) {
    const int from = kStops[stop].*part, to = kStops[stop + 1].*part;
    return static_cast<int>(std::lround(from + share * (to - from)));
  };
  return {mix(&Colour::red), mix(&Colour::green), mix(&Colour::blue)};
}

// The nearest of the 6 x 6 x 6 colours of a 256-colour terminal.
int index_of(const Colour& colour) {
  const auto step = [](int part) { return part < 48 ? 0 : part < 115 ? 1 : (part - 35) / 40; };
  return 16 + 36 * step(colour.red) + 6 * step(colour.green) + step(colour.blue);
}

constexpr std::array<std::string_view, 5> kBlocks = {" ", "░", "▒", "▓", "█"};

class TextPicture {
 public:
  TextPicture(const HeatMap& map, const TextStyle& style) : map_(map), style_(style) {
    constexpr std::size_t kLongestRowName = 16, kLongestColumnName = 12;
    for (const std::string& name : map.rows) rows_.push_back(abbreviated(characters_of(name), kLongestRowName));
    for (const auto& name : rows_) names_ = std::max(names_, width_of(name));
    for (const std::string& name : map.columns) {
      std::vector<Character> downwards = characters_of(name);
      if (downwards.size() > kLongestColumnName) {
        downwards.resize(kLongestColumnName - 1);
        downwards.push_back({"\u22ee", 1});
      }
      for (const Character& character : downwards) cell_ = std::max(cell_, character.width);
      columns_.push_back(std::move(downwards));
    }
    const std::size_t room = std::max(style.width, names_ + 3) - names_ - 1;
    if (2 * columns_.size() <= room) cell_ = 2;
    shown_ = std::min(columns_.size(), room / cell_);
  }

  std::string draw() {
    add_line(map_.title);
    add_line(fmt::format("down: {}, across: {}", map_.row_axis, map_.column_axis));
    draw_column_names();
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      line_ = std::string(names_ - width_of(rows_[row]), ' ') + join(rows_[row]) + " ";
      for (std::size_t column = 0; column < shown_; ++column) {
        draw_cell(darkness(map_, map_.values[row * columns_.size() + column]), cell_);
      }
      finish_line();
    }
    draw_legend();
    if (shown_ < columns_.size()) {
      add_line(fmt::format("{}: the first {} of {}; the others do not fit into {} columns", map_.column_axis, shown_,
                           columns_.size(), style_.width));
    }
    return text_;
  }

 private:
  // Each name reads downwards and ends at its column.
  void draw_column_names() {
    std::size_t height = 0;
    for (std::size_t column = 0; column < shown_; ++column) height = std::max(height, columns_[column].size());
    for (std::size_t y = 0; y < height; ++y) {
      line_ = std::string(names_ + 1, ' ');
      for (std::size_t column = 0; column < shown_; ++column) {
        const std::size_t above = height - columns_[column].size();
        const Character character = y < above ? Character{" ", 1} : columns_[column][y - above];
        line_ += character.text + std::string(cell_ - character.width, ' ');
      }
      finish_line();
    }
  }

  void draw_cell(double dark, std::size_t width) {
    const Colour colour = colour_of(dark);
    switch (style_.colours) {
      case output::Colours::none:
        for (std::size_t i = 0; i < width; ++i)
          line_ += kBlocks[std::min<std::size_t>(4, static_cast<std::size_t>(dark * 5))];
        return;
      case output::Colours::of_256:
        line_ += fmt::format("\033[48;5;{}m{}\033[0m", index_of(colour), std::string(width, ' '));
        return;
      case output::Colours::of_24_bits:
        line_ +=
            fmt::format("\033[48;2;{};{};{}m{}\033[0m", colour.red, colour.green, colour.blue, std::string(width, ' '));
    }
  }

  void draw_legend() {
    const auto value_at = [&](double share) { return map_.low + static_cast<float>(share) * (map_.high - map_.low); };
    if (style_.colours == output::Colours::none) {
      for (std::size_t shade = 1; shade < kBlocks.size(); ++shade) {
        line_ += fmt::format("{}{} from {:.2g}", shade == 1 ? "" : ", ", kBlocks[shade],
                             value_at(static_cast<double>(shade) / static_cast<double>(kBlocks.size())));
      }
    } else {
      constexpr int kSteps = 12;
      line_ = fmt::format("{:.2g} ", map_.low);
      for (int i = 0; i < kSteps; ++i) draw_cell(static_cast<double>(i) / (kSteps - 1), 1);
      line_ += fmt::format(" {:.2g}", map_.high);
    }
    finish_line();
  }

  void add_line(const std::string& line) { text_ += join(abbreviated(characters_of(line), style_.width)) + "\n"; }
  void finish_line() {
    line_.erase(line_.find_last_not_of(' ') + 1);
    text_ += line_ + "\n";
    line_.clear();
  }

  const HeatMap& map_;
  TextStyle style_;
  std::vector<std::vector<Character>> rows_, columns_;
  std::size_t names_ = 0;  // columns that the names of rows take
  std::size_t cell_ = 1;   // columns of a cell
  std::size_t shown_ = 0;  // columns of the matrix that fit
  std::string line_, text_;
};

// ---- SVG

constexpr double kMargin = 12, kFont = 11;
constexpr double kCharacter = 0.62 * kFont;  // about the width of a character

std::string name_for_svg(const std::string& name, std::size_t most) {
  return escaped(join(abbreviated(characters_of(name), most)));
}

double width_for_svg(const std::vector<std::string>& names, std::size_t most) {
  std::size_t width = 0;
  for (const std::string& name : names) width = std::max(width, std::min(width_of(characters_of(name)), most));
  return static_cast<double>(width) * kCharacter;
}

}  // namespace

HeatMap heat_map(const AttentionMaps& maps, std::int64_t layer, std::optional<std::int64_t> head) {
  const std::size_t size = maps.target.size() * maps.source.size();
  ensure(layer < maps.layers && head.value_or(0) < maps.heads, "the layer and head exist");
  HeatMap map{.title = {},
              .row_axis = "target",
              .column_axis = "source",
              .rows = maps.target,
              .columns = maps.source,
              .values = std::vector<float>(size)};
  const std::int64_t first = head.value_or(0), last = head ? *head + 1 : maps.heads;
  for (std::int64_t h = first; h < last; ++h) {
    const std::uint8_t* weights = maps.weights.data() + (layer * maps.heads + h) * size;
    for (std::size_t i = 0; i < size; ++i) {
      map.values[i] += static_cast<float>(weights[i]) / (255 * static_cast<float>(last - first));
    }
  }
  map.high = 0;
  for (const float value : map.values) map.high = std::max(map.high, value);
  map.title = fmt::format("layer {}", layer);
  if (head) {
    map.title += fmt::format(", head {}", *head);
  } else if (maps.heads > 1) {
    map.title += fmt::format(", mean of {} heads", maps.heads);
  }
  return map;
}

std::string to_text(const HeatMap& map, const TextStyle& style) { return TextPicture(map, style).draw(); }

void SvgPage::text(double x, double y, const std::string& text, const std::string& attributes) {
  fmt::format_to(std::back_inserter(body_), "<text x=\"{:.4g}\" y=\"{:.6g}\"{}{}>{}</text>\n", x, y,
                 attributes.empty() ? "" : " ", attributes, text);
}

// One path for all cells of a shade; runs of equal cells are one rectangle.
void SvgPage::cells(const HeatMap& map, double x, double y, double cell) {
  constexpr int kShades = 32;
  const std::size_t rows = map.rows.size(), columns = map.columns.size();
  fmt::format_to(std::back_inserter(body_),
                 "<rect class=\"frame\" x=\"{:.6g}\" y=\"{:.6g}\" width=\"{:.6g}\" height=\"{:.6g}\"/>\n"
                 "<g transform=\"translate({:.6g} {:.6g}) scale({:.6g})\" shape-rendering=\"crispEdges\">\n",
                 x - 0.5, y - 0.5, cell * static_cast<double>(columns) + 1, cell * static_cast<double>(rows) + 1, x, y,
                 cell);
  std::map<int, std::string> paths;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns;) {
      const auto shade_at = [&](std::size_t at) {
        return static_cast<int>(std::lround(darkness(map, map.values[row * columns + at]) * kShades));
      };
      const int shade = shade_at(column);
      std::size_t end = column + 1;
      while (end < columns && shade_at(end) == shade) ++end;
      if (shade > 0) {
        fmt::format_to(std::back_inserter(paths[shade]), "M{} {}h{}v1h-{}z", column, row, end - column, end - column);
      }
      column = end;
    }
  }
  for (const auto& [shade, path] : paths) {
    const Colour colour = colour_of(static_cast<double>(shade) / kShades);
    fmt::format_to(std::back_inserter(body_), "<path fill=\"#{:02x}{:02x}{:02x}\" d=\"{}\"/>\n", colour.red,
                   colour.green, colour.blue, path);
  }
  body_ += "</g>\n";
}

void SvgPage::legend(const HeatMap& map, double x, double y) {
  constexpr std::size_t kSteps = 16;
  HeatMap scale{.title = {}, .row_axis = {}, .column_axis = {}, .rows = {""}, .columns = {}, .values = {}};
  scale.columns.resize(kSteps);
  for (std::size_t i = 0; i < kSteps; ++i) scale.values.push_back(static_cast<float>(i) / (kSteps - 1));
  const std::string low = fmt::format("{:.2g}", map.low), high = fmt::format("{:.2g}", map.high);
  text(x, y + 9, low);
  const double bar = x + (static_cast<double>(low.size()) + 1) * kCharacter, cell = 9;
  cells(scale, bar, y, cell);
  text(bar + cell * kSteps + kCharacter, y + 9, high);
}

void SvgPage::add_heading(const std::string& heading) {
  const std::string line = name_for_svg(heading, 160);
  text(kMargin, height_ + 12, line, "font-size=\"13\" font-weight=\"bold\"");
  width_ = std::max(width_, 2 * kMargin + 1.3 * width_for_svg({heading}, 160));
  height_ += 24;
}

void SvgPage::add(const HeatMap& map) {
  constexpr std::size_t kLongestName = 24;
  const double longest = static_cast<double>(std::max({map.rows.size(), map.columns.size(), std::size_t{1}}));
  const double cell = std::clamp(std::floor(1200 / longest), 3.0, 18.0);
  const double x = kMargin + kFont + 6 + width_for_svg(map.rows, kLongestName) + 6;
  const double y = height_ + 40 + width_for_svg(map.columns, kLongestName) + 6;
  const double width = cell * static_cast<double>(map.columns.size());
  const double height = cell * static_cast<double>(map.rows.size());
  text(kMargin, height_ + 12, name_for_svg(map.title, 160), "font-weight=\"bold\"");
  text(x + width / 2, height_ + 30, name_for_svg(map.column_axis, 80), "text-anchor=\"middle\" fill=\"#666\"");
  text(0, 0, name_for_svg(map.row_axis, 80),
       fmt::format("text-anchor=\"middle\" fill=\"#666\" transform=\"translate({:.6g} {:.6g}) rotate(-90)\"",
                   kMargin + 9, y + height / 2));
  const auto step = static_cast<std::size_t>(std::ceil(kFont / cell));  // names that would overlap are left out
  for (std::size_t row = 0; row < map.rows.size(); row += step) {
    text(x - 6, y + cell * (static_cast<double>(row) + 0.5) + 4, name_for_svg(map.rows[row], kLongestName),
         "text-anchor=\"end\"");
  }
  for (std::size_t column = 0; column < map.columns.size(); column += step) {
    text(0, 0, name_for_svg(map.columns[column], kLongestName),
         fmt::format("transform=\"translate({:.6g} {:.6g}) rotate(-90)\"",
                     x + cell * (static_cast<double>(column) + 0.5) + 4, y - 6));
  }
  cells(map, x, y, cell);
  legend(map, x, y + height + 10);
  width_ = std::max({width_, x + width + kMargin, x + 240, 2 * kMargin + 1.1 * width_for_svg({map.title}, 160)});
  height_ = y + height + 48;
}

void SvgPage::add_all(const AttentionMaps& maps, const std::string& title) {
  constexpr double kMap = 110, kGap = 8;  // of a map's longer side, and between maps
  constexpr std::size_t kLongestLine = 150;
  const double longest = static_cast<double>(std::max({maps.source.size(), maps.target.size(), std::size_t{1}}));
  const double cell = std::min(kMap / longest, 12.0);
  const double across = cell * static_cast<double>(maps.source.size()) + kGap;
  const double down = cell * static_cast<double>(maps.target.size()) + kGap;
  const std::string source = fmt::format("Across: {}", fmt::join(maps.source, " "));
  const std::string target = fmt::format("Down: {}", fmt::join(maps.target, " "));
  text(kMargin, height_ + 12, name_for_svg(title, kLongestLine), "font-weight=\"bold\"");
  text(kMargin, height_ + 28, name_for_svg(source, kLongestLine));
  text(kMargin, height_ + 44, name_for_svg(target, kLongestLine));
  const double x = kMargin + 52, y = height_ + 72;
  std::vector<HeatMap> all;
  float high = 0;
  for (std::int64_t layer = 0; layer < maps.layers; ++layer) {
    for (std::int64_t head = 0; head < maps.heads; ++head) {
      all.push_back(heat_map(maps, layer, head));
      high = std::max(high, all.back().high);
    }
  }
  for (std::int64_t head = 0; head < maps.heads; ++head) {
    text(x + across * static_cast<double>(head) + (across - kGap) / 2, y - 6, fmt::format("Head {}", head),
         "text-anchor=\"middle\"");
  }
  for (std::int64_t layer = 0; layer < maps.layers; ++layer) {
    const double top = y + down * static_cast<double>(layer);
    text(x - 6, top + (down - kGap) / 2 + 4, fmt::format("Layer {}", layer), "text-anchor=\"end\"");
    for (std::int64_t head = 0; head < maps.heads; ++head) {
      HeatMap& map = all[layer * maps.heads + head];
      map.high = high;  // one scale for all
      cells(map, x + across * static_cast<double>(head), top, cell);
    }
  }
  const double bottom = y + down * static_cast<double>(maps.layers);
  if (!all.empty()) legend(all.front(), x, bottom + 4);
  width_ = std::max({width_, x + across * static_cast<double>(maps.heads) + kMargin, x + 240,
                     2 * kMargin + width_for_svg({source, target, title}, kLongestLine)});
  height_ = bottom + 44;
}

void SvgPage::add(const LineChart& chart) {
  text(kMargin, height_ + 12, name_for_svg(chart.title, 160), "font-weight=\"bold\"");
  std::string drawn = svg(chart);
  if (drawn.empty()) return;
  body_ += drawn.insert(4, fmt::format(" x=\"{}\" y=\"{:.6g}\" width=\"{}\" height=\"{}\"", kMargin, height_ + 20,
                                       kChartWidth, kLineChartHeight)) +
           '\n';
  width_ = std::max(width_, kChartWidth + 2 * kMargin);
  height_ += kLineChartHeight + 32;
}

std::string SvgPage::document() const {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"{2}\">\n"
      "<style>.frame{{fill:#fff;stroke:#bbb;stroke-width:1}}.grid{{stroke:#ccc}}.axis{{stroke:#000}}.label{{fill:#666}}"
      ".line{{fill:none;stroke:#3a6ab0;stroke-width:1.5}}.mark{{fill:#3a6ab0}}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{3}</svg>\n",
      std::ceil(width_), std::ceil(height_), kFont, body_);
}

}  // namespace attend
