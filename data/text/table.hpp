// Records with named columns, with or without labels: tables, and SQuAD's JSON.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/text/lines.hpp"

namespace attend {

// A file to learn from or to score must have labels; in a file to predict they may be missing and are not read.
enum class Labelled { yes, no };

// Reads records with named columns from a file (plain or .gz): TSV as GLUE ships it (quotes are ordinary characters),
// CSV (RFC 4180: a quoted value may contain commas, line breaks and doubled quotes) and JSON lines.
//
//   TableReader table("dev.tsv", {.columns = {"sentence", "label"}});
//   for (Record record; table.next(record);) record.values[1];

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

// Questions about a paragraph, answered by spans of it: the JSON format of SQuAD 1.1 and 2.0.

struct Answer {
  std::string text = {};
  std::optional<std::size_t> begin = {};  // in bytes of the context; empty if the context does not contain it
};

struct Question {
  std::string id = {};
  std::string text = {};
  std::size_t context = 0;           // index into QuestionSet::contexts
  std::vector<Answer> answers = {};  // empty: unanswerable (2.0)
};

struct QuestionSet {
  std::vector<std::string> contexts = {};
  std::vector<Question> questions = {};
  bool may_lack_answers = false;  // 2.0
  std::uint64_t moved = 0;        // answers with a wrong offset, found elsewhere in their context
  std::uint64_t lost = 0;         // answers that their context does not contain

  // True if the position of the answer is known or the question is marked unanswerable.
  bool can_be_learnt(const Question& question) const {
    return question.answers.empty() ? may_lack_answers : question.answers[0].begin.has_value();
  }
};

// Offsets in the file count code points. An answer that is not at its offset is moved to its nearest occurrence. Throws
// UserError naming the file and the question, or its path in the JSON, for a missing member, a member of the wrong
// type, a duplicate id, or answers that are empty or contradict is_impossible. In a file to predict, questions may lack
// `answers`.
QuestionSet read_squad(const std::string& file, Labelled labelled);

}  // namespace attend
