// Reads records with named columns from a file (plain or .gz): TSV as GLUE ships it (quotes are ordinary characters),
// CSV (RFC 4180: a quoted value may contain commas, line breaks and doubled quotes) and JSON lines.
//
//   TableReader table("dev.tsv", {.columns = {"sentence", "label"}});
//   for (Record record; table.next(record);) record.values[1];
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/text/lines.hpp"

namespace attend {

enum class TableFormat { automatic, tsv, csv, jsonl };
template <>
inline constexpr auto kEnumNames<TableFormat> = std::to_array<EnumName<TableFormat>>({
    {TableFormat::automatic, "auto"},
    {TableFormat::tsv, "tsv"},
    {TableFormat::csv, "csv"},
    {TableFormat::jsonl, "jsonl"},
});

struct TableShape {
  // Names from the header, "a|b" meaning the first that exists; without a header, numbers from 1.
  std::vector<std::string> columns = {};
  TableFormat format = TableFormat::automatic;  // from the file's extension
  bool header = true;                           // of TSV and CSV: the first line names the columns
  std::string separator = {};                   // JSON: joins the elements of a list into one value
  bool skip_incomplete = false;                 // skip rows with too few or too many values, or a blank one
};

// The parts of a line between separators: one more than there are separators.
std::vector<std::string> split_at(const std::string& line, char separator);

// The alternatives of a name: a and b for "a|b".
std::vector<std::string> alternatives(const std::string& name);

struct Record {
  std::uint64_t line = 0;                // its first line, from 1
  std::vector<std::string> values = {};  // of the requested columns, in their order
};

class TableReader {
 public:
  // Throws UserError listing the existing columns if a requested one is missing, and as LineReader does.
  TableReader(const std::string& file, const TableShape& shape);

  // The next record; false at the end. Empty lines are skipped. Throws UserError naming file and line for an empty line
  // in a table of one column, a row whose number of values differs from the first row's, an unclosed quote, text after
  // a closing quote, and anything but a JSON object with the requested members (strings, numbers or booleans).
  bool next(Record& record);
  std::uint64_t num_incomplete() const { return num_incomplete_; }
  void warn_of_invalid_utf8() const { lines_.warn_of_invalid_utf8(); }

 private:
  bool next_record(Record& record);
  bool next_row(std::vector<std::string>& values, std::uint64_t& line);
  [[noreturn]] void refuse(std::uint64_t line, const std::string& what, const std::string& remedy) const;

  std::string file_ = {};
  TableShape shape_;
  LineReader lines_;
  std::size_t num_columns_ = 0;           // of the first row
  std::uint64_t empty_line_ = 0;          // the first one skipped before the last row read, or 0
  std::vector<std::size_t> places_ = {};  // of the requested columns in a row
  std::uint64_t num_incomplete_ = 0;
};

}  // namespace attend
