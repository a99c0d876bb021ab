// The sections of a report as text, tables and charts, the same for the page and the Markdown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/report/chart.hpp"
#include "analysis/report/comparison.hpp"
#include "analysis/report/sentence_data.hpp"

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

// Charts and their numbers, which the page collapses unless they are few or there is no chart; no columns where the
// numbers are in a table of their own.
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

// Sentences with their attention, of which the Markdown and a page without a script show only `first`.
struct SentenceSection {
  std::string title;
  ShownSentences shown;
  Table first;
  std::size_t left_out = 0;  // sentences whose attention was not kept
  std::string remedy = {};   // the command that shows it
};
inline constexpr std::size_t kFirstSentences = 10;

// What the page and the Markdown show.
struct SectionReport {
  std::string title;
  std::vector<Section> sections;
  std::string foot;  // of the page
  std::optional<SentenceSection> sentences = {};
};

// The comparison's facts, then sections 1 to 8. Refers to the attention of the comparison, which must outlive it.
SectionReport section_report(const Comparison& comparison);
// The comparison's facts, then sections 1 to 6.
SectionReport section_report(const LanguageComparison& comparison);
// The comparison's facts, then sections 1 to 7; of pretrained encoders, 1 to 6. Refers to attention as the first one.
SectionReport section_report(const TaskComparison& comparison);

// report.md: the sentences and tables of the page, without its charts and its attention.

std::string report_markdown(const SectionReport& report);

}  // namespace attend
