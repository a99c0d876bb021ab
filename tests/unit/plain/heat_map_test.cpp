// Heat maps on a terminal and as SVG.
#include "analysis/report/heat_map.hpp"

#include <gtest/gtest.h>

#include <string>

#include "analysis/report/characters.hpp"

namespace attend {
namespace {

HeatMap small() {
  return {.title = "layer 0",
          .row_axis = "target",
          .column_axis = "source",
          .rows = {"ein", "Hund"},
          .columns = {"a", "dog", "."},
          .values = {0.9F, 0.1F, 0, 0.25F, 0.5F, 0.25F}};
}

TEST(HeatMap, ShowsShadesWithNamesDownAndAcross) {
  EXPECT_EQ(to_text(small(), {}),
            "layer 0\n"
            "down: target, across: source\n"
            "       d\n"
            "       o\n"
            "     a g .\n"
            " ein ██\n"
            "Hund ░░▒▒░░\n"
            "░ from 0.2, ▒ from 0.4, ▓ from 0.6, █ from 0.8\n");
}

TEST(HeatMap, LeavesOutColumnsThatDoNotFitAndSaysSo) {
  HeatMap map = small();
  map.title = "l";
  map.columns.assign(100, "x");
  map.values.assign(200, 1);
  const std::string text = to_text(map, {.width = 80});
  std::string row;
  for (int i = 0; i < 75; ++i) row += "█";
  EXPECT_NE(text.find("\n ein " + row + "\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nsource: the first 75 of 100; the others do not fit into 80 columns\n"), std::string::npos)
      << text;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(width_of(characters_of(text.substr(begin, end - begin))), 80u);
    begin = end + 1;
  }
}

TEST(HeatMap, AbbreviatesNamesAndCountsWideCharacters) {
  HeatMap map = small();
  map.rows = {"Donaudampfschifffahrt", "\u72ac"};
  map.columns = {"Donaudampfschifffahrt", "\u4e2d", "e\u0301"};
  EXPECT_EQ(to_text(map, {}),
            "layer 0\n"
            "down: target, across: source\n"
            "                 D\n                 o\n                 n\n                 a\n                 u\n"
            "                 d\n                 a\n                 m\n                 p\n                 f\n"
            "                 s\n                 ⋮ 中e\u0301\n"
            "Donaudampfschif… ██\n"
            "              犬 ░░▒▒░░\n"
            "░ from 0.2, ▒ from 0.4, ▓ from 0.6, █ from 0.8\n");
}

TEST(HeatMap, ColoursAreBackgroundsOfTheDepthThatTheTerminalHas) {
  HeatMap map = small();
  map.rows = {"a"};
  map.columns = {"b"};
  map.values = {1};
  EXPECT_NE(to_text(map, {.colours = output::Colours::of_24_bits}).find("\na \033[48;2;16;44;104m  \033[0m\n"),
            std::string::npos);
  EXPECT_NE(to_text(map, {.colours = output::Colours::of_256}).find("\na \033[48;5;17m  \033[0m\n"), std::string::npos);
  map.values = {0};
  EXPECT_NE(to_text(map, {.colours = output::Colours::of_256}).find("\na \033[48;5;231m  \033[0m\n"),
            std::string::npos);
}

TEST(HeatMap, NothingInANameSteersTheTerminalOrBreaksTheDocument) {
  HeatMap map = small();
  map.rows = {"\033[2J", "<b>&\"\xff"};
  map.columns = {"\u202e", "\x01", "]]>"};
  const std::string text = to_text(map, {});
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_EQ(text.find("\u202e"), std::string::npos);
  SvgPage page;
  page.add_heading("<script>");
  page.add(map);
  const std::string svg = page.document();
  EXPECT_NE(svg.find("&lt;b&gt;&amp;&quot;\xEF\xBF\xBD<"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">&lt;script&gt;<"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">]]&gt;<"), std::string::npos) << svg;
  for (const char bad : {'\033', '\x01', '\xff'}) EXPECT_EQ(svg.find(bad), std::string::npos);
}

TEST(HeatMap, OneHeadOrTheMeanOfALayer) {
  const AttentionMaps maps{
      .source = {"a", "b"}, .target = {"c"}, .layers = 2, .heads = 2, .weights = {255, 0, 0, 255, 51, 204, 204, 51}};
  const HeatMap head = heat_map(maps, 1, 0), mean = heat_map(maps, 1, std::nullopt);
  EXPECT_EQ(head.title, "layer 1, head 0");
  EXPECT_FLOAT_EQ(head.values[0], 0.2F);
  EXPECT_FLOAT_EQ(head.values[1], 0.8F);
  EXPECT_FLOAT_EQ(head.high, 0.8F);
  EXPECT_EQ(mean.title, "layer 1, mean of 2 heads");
  EXPECT_FLOAT_EQ(mean.values[0], 0.5F);
  EXPECT_FLOAT_EQ(mean.values[1], 0.5F);
}

TEST(HeatMap, TheSheetHasAMapForEveryLayerAndHead) {
  const AttentionMaps maps{
      .source = {"a", "b"}, .target = {"c"}, .layers = 2, .heads = 2, .weights = {255, 0, 0, 255, 51, 204, 204, 51}};
  SvgPage page;
  page.add_all(maps, "cross");
  const std::string svg = page.document();
  for (const std::string name : {">Layer 0<", ">Layer 1<", ">Head 0<", ">Head 1<", ">Across: a b<", ">Down: c<"}) {
    EXPECT_NE(svg.find(name), std::string::npos) << name;
  }
  std::size_t frames = 0;
  for (std::size_t at = svg.find("\"frame\""); at != std::string::npos; at = svg.find("\"frame\"", at + 1)) ++frames;
  EXPECT_EQ(frames, 5u) << "four maps and the legend";
}

}  // namespace
}  // namespace attend
