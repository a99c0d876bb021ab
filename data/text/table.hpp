// Records with named columns, one after another out of a file (plain or .gz): TSV as GLUE ships it (quotes mean
// nothing), CSV (RFC 4180: a value in quotes may hold commas, line ends and doubled quotes) and JSON lines.
//
//   TableReader table("dev.tsv", {.columns = {"sentence", "label"}});
//   for (Record record; table.next(record);) record.values[1];
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options.hpp"
#include "data/text/lines.hpp"

namespace attend {

enum class TableFormat { automatic, tsv, csv, jsonl };
template <>
struct EnumNames<TableFormat> {
  static constexpr std::array names{
      std::pair{TableFormat::automatic, std::string_view("auto")}, std::pair{TableFormat::tsv, std::string_view("tsv")},
      std::pair{TableFormat::csv, std::string_view("csv")}, std::pair{TableFormat::jsonl, std::string_view("jsonl")}};
};

struct TableShape {
  // By the header's names, "a|b" is the first that there is; by numbers from 1 where there is no header.
  std::vector<std::string> columns = {};
  TableFormat format = TableFormat::automatic;  // by the end of the file's name
  bool header = true;                           // of TSV and CSV: the first line names the columns
  std::string separator = {};                   // JSON: a list is one value, with this between its elements
  bool skip_incomplete = false;                 // rows with too few or too many values, or a blank one, are passed over
};

// "a|b" is a and b.
std::vector<std::string> alternatives(const std::string& name);

struct Record {
  std::uint64_t line = 0;                // where it begins, from 1
  std::vector<std::string> values = {};  // of the wanted columns, in their order
};

class TableReader {
 public:
  // UserError naming the columns that there are when one that is wanted is not, and as LineReader.
  TableReader(const std::string& file, const TableShape& shape);
  ~TableReader();

  // The next record; false at the end. Blank lines are passed over. UserError naming file and line for a row with
  // another number of values than the first, a quote that is not closed or closed too soon, or what is no JSON object
  // with the wanted members (texts, numbers or truths).
  bool next(Record& record);
  // Rows that were passed over.
  std::uint64_t num_incomplete() const { return num_incomplete_; }

 private:
  bool next_record(Record& record);
  bool next_row(std::vector<std::string>& values, std::uint64_t& line);
  [[noreturn]] void refuse(std::uint64_t line, const std::string& what, const std::string& remedy) const;

  std::string file_ = {};
  TableShape shape_;
  LineReader lines_;
  std::size_t num_columns_ = 0;           // of the first row
  std::uint64_t empty_line_ = 0;          // the first that was passed over before the row last read, or 0
  std::vector<std::size_t> places_ = {};  // of the wanted columns in a row
  std::uint64_t num_incomplete_ = 0;
};

}  // namespace attend
