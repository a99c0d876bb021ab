// A report in sections of sentences, tables and charts, made of a Comparison: the page and the Markdown show the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "analysis/report/chart.hpp"
#include "analysis/report/comparison.hpp"

namespace attend {

struct Cell {
  std::string text;
  std::optional<std::int64_t> sentence = {};  // links to the sentence of this number, from 1

  Cell(std::string its_text) : text(std::move(its_text)) {}  // NOLINT: text is a cell
  Cell(const char* its_text) : text(its_text) {}             // NOLINT
  explicit Cell(std::int64_t number) : text(std::to_string(number)), sentence(number) {}
};

struct Column {
  std::string name;
  bool is_number = true;  // set to the right
};

struct Table {
  std::string caption;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

struct Paragraph {
  std::string text;
};

// Sentences one below the other.
struct Items {
  std::vector<std::string> texts;
};

// Charts and the numbers that they draw, folded away on the page.
struct Figure {
  std::string title;
  std::string how_to_read;
  std::vector<Chart> charts;
  Table numbers;
};

using Block = std::variant<Paragraph, Items, Table, Figure>;

struct Section {
  std::string id;     // "quality"
  std::string title;  // "2. Quality"
  std::string how_to_read;
  std::vector<Block> blocks;  // at least one: a section without data says why
};

// What was compared, then sections 1 to 7. Section 8, the sentences, is each writer's own.
std::vector<Section> sections_of(const Comparison& comparison);

// The first sentences as a table: source, reference, outputs.
Table sentence_table(const Comparison& comparison, std::size_t most);

}  // namespace attend
