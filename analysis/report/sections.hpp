// The sections of a report as text, tables and charts, the same for the page and the Markdown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/report/chart.hpp"
#include "analysis/report/comparison.hpp"
#include "analysis/report/language_comparison.hpp"

namespace attend {

struct TableCell {
  std::string text;
  std::optional<std::int64_t> sentence = {};  // links to the sentence of this number, from 1
  std::optional<double> heat = {};            // shades the cell, on one scale for all cells of its table
  bool is_best = false;                       // marks the cell

  TableCell(std::string its_text) : text(std::move(its_text)) {}  // NOLINT: text is a cell
  TableCell(const char* its_text) : text(its_text) {}             // NOLINT
  TableCell(std::string its_text, std::optional<double> its_heat) : text(std::move(its_text)), heat(its_heat) {}
  explicit TableCell(std::int64_t number) : text(std::to_string(number)), sentence(number) {}
};

struct Column {
  std::string name;
  bool is_number = true;  // aligned to the right
};

struct Table {
  std::string caption;
  std::vector<Column> columns;
  std::vector<std::vector<TableCell>> rows = {};
};

struct Paragraph {
  std::string text;
};

// A list.
struct Items {
  std::vector<std::string> texts;
};

// Charts and their numbers, which the page collapses unless they are few or there is no chart.
struct Figure {
  std::string title;
  std::string how_to_read;
  std::vector<Chart> charts = {};
  Table numbers = {};
};

using Block = std::variant<Paragraph, Items, Table, Figure>;

struct Section {
  std::string id;     // "quality"
  std::string title;  // "2. Quality"
  std::string how_to_read;
  std::vector<Block> blocks = {};  // at least one: a section without data gives the reason

  void add(Block block);
  // The block if it has rows, else the paragraph `why_none`.
  void add(Table table, const std::string& why_none);
  void add(Figure figure, const std::string& why_none);
};

// A report of sections alone; page.hpp and markdown.hpp write it.
struct SectionReport {
  std::string title;
  std::vector<Section> sections;
  std::string foot;  // of the page
};

std::string comparison_title(const ComparedSystems& compared);

// The comparison's facts, then sections 1 to 7. Section 8, the sentences, is each writer's own.
std::vector<Section> sections_of(const Comparison& comparison);
// The comparison's facts, then sections 1 to 6, which are all.
std::vector<Section> sections_of(const LanguageComparison& comparison);

// The head at which section 8 opens: the one with the lowest alignment error rate or, without gold links, the mean of
// the last layer's heads. Null without attention.
const HeadStatistics* opening_head(const std::vector<HeadStatistics>& heads);

// The first sentences as a table: source, reference, outputs.
Table sentence_table(const Comparison& comparison, std::size_t most);

}  // namespace attend
