#include "analysis/report/markdown.hpp"

#include <string_view>

namespace attend {
namespace {

// `text` on one line, with its Markdown and HTML escaped.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\`*_{}[]<>#|~!&").find(c) != std::string_view::npos) out += '\\';
    const bool is_control = static_cast<unsigned char>(c) < 0x20;
    out += is_control ? ' ' : c;
  }
  return out;
}

std::string markdown_of(const Paragraph& paragraph) { return plain(paragraph.text) + "\n\n"; }

std::string markdown_of(const Items& items) {
  std::string out;
  for (const std::string& text : items.texts) out += "- " + plain(text) + "\n";
  return out + "\n";
}

std::string markdown_of(const Table& table) {
  std::string out = plain(table.caption) + ":\n\n|", rule = "|";
  for (const Column& column : table.columns) {
    out += " " + plain(column.name) + " |";
    rule += column.is_number ? "---:|" : "---|";
  }
  out += "\n" + rule + "\n";
  for (const std::vector<TableCell>& row : table.rows) {
    out += "|";
    for (const TableCell& cell : row)
      out += (cell.is_best ? " **" : " ") + plain(cell.text) + (cell.is_best ? "** |" : " |");
    out += "\n";
  }
  return out + "\n";
}

std::string markdown_of(const Figure& figure) {
  return "### " + plain(figure.title) + "\n\n" + plain(figure.how_to_read) + "\n\n" +
         (figure.numbers.columns.empty() ? "" : markdown_of(figure.numbers));
}

}  // namespace

std::string report_markdown(const SectionReport& report) {
  std::string out = "# " + plain(report.title) + "\n\n";
  for (const Section& section : report.sections) {
    out += "## " + section.title + "\n\n";
    if (!section.how_to_read.empty()) out += section.how_to_read + "\n\n";
    for (const Block& block : section.blocks) out += std::visit([](const auto& it) { return markdown_of(it); }, block);
  }
  if (!report.sentences) return out;
  out += "## " + report.sentences->title + "\n\n";
  if (report.sentences->first.rows.empty()) return out + "This comparison has no sentences.\n";
  return out + "index.html shows all sentences, and attention.\n\n" + markdown_of(report.sentences->first);
}

}  // namespace attend
