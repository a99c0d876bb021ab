// Lines of text from plain files, .gz files and standard input, cleaned as they are read.
//
// Only \n ends a line; a last line without one counts. Cleaned, and counted:
//   the CR of a CRLF and a byte-order mark at the start   removed
//   NUL                                                   removed
//   other line breaks inside a line (CR, VT, FF, U+0085, U+2028, U+2029, FS, GS, RS)   replaced by a space
//   invalid UTF-8                                         replaced by U+FFFD and reported by invalid()
// Every line returned is therefore valid UTF-8 that no other program would split in two.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attend {

// Number of lines read, and of lines cleaned of each kind of fault.
struct LineCounts {
  std::uint64_t lines = 0;
  std::uint64_t carriage_returns = 0;
  std::uint64_t byte_order_marks = 0;
  std::uint64_t nul = 0;
  std::uint64_t line_ends = 0;
  std::uint64_t invalid_utf8 = 0;

  LineCounts& operator+=(const LineCounts& other);
  bool clean() const;
  // "120 lines: 3 with invalid UTF-8, 120 with CRLF (CR removed)"; lists only non-zero counts.
  std::string report() const;
  // Logs the report for `name`, a file or - for standard input, if anything was cleaned.
  void log(const std::string& name) const;
};

// "3 empty, 2 too long": a list of the counts that are not 0.
std::string nonzero_counts(std::initializer_list<std::pair<std::uint64_t, std::string_view>> counts);

class LineReader {
 public:
  // "-" is standard input; a gzip file, recognised by its magic number, is decompressed. Throws UserError if the file
  // cannot be read; next() throws it if standard input is gzip, and after the last whole line of a truncated file.
  explicit LineReader(const std::filesystem::path& path);
  ~LineReader();

  // False at the end, leaving `line` unchanged. Throws UserError for a line of more than 64 MB, Interrupted when a
  // signal requests a stop.
  bool next(std::string& line);

  // True if the last line read contained invalid UTF-8.
  bool invalid() const { return invalid_; }
  const LineCounts& counts() const { return counts_; }
  // Logs the number of lines with invalid UTF-8 and the first of them.
  void warn_of_invalid_utf8() const;
  // Position of the last line read, "corpus.en:12".
  std::string place() const;
  // Throws UserError naming this position.
  [[noreturn]] void refuse(const std::string& what, const std::string& remedy) const;

 private:
  class Source;
  friend const std::filesystem::path& check_text_file(const std::filesystem::path& path);

  void clean(std::string& line);

  std::unique_ptr<Source> source_;
  std::string raw_;
  std::string cleaned_;
  bool invalid_ = false;
  std::uint64_t first_invalid_ = 0;  // line, from 1
  LineCounts counts_;
};

// The number of lines left in a plain file, or in standard input (-) that comes from one. Nothing for gzip files, pipes
// and terminals, whose lines are known once they are read.
std::optional<std::int64_t> count_lines(const std::filesystem::path& path);

// The name of a file in messages; "standard input" for -.
std::string name_of_input(const std::filesystem::path& path);

// True if `text` contains only spaces and tabs.
inline bool is_blank(std::string_view text) { return text.find_first_not_of(" \t") == std::string_view::npos; }

// The words of a line, separated by spaces and tabs.
std::vector<std::string_view> spaced_words(std::string_view text);

// `text` without surrounding spaces, tabs and line breaks.
std::string trimmed(std::string_view text);

// The two texts of a line, separated by a tab. Throws UserError naming `place` if there are not two.
std::pair<std::string, std::string> two_texts(const std::string& line, const std::string& place,
                                              const std::string& remedy);
// Throws UserError naming `place` if the line has a tab, and so more than one text.
void refuse_tab(const std::string& line, const std::string& place);

// `text` with every line break and NUL replaced by a space.
std::string as_one_line(std::string_view text);

// Returns `path`. Throws UserError unless it is a readable, non-empty regular text file (plain or gzip); the message
// distinguishes missing, directory, empty, UTF-16 and binary. Reads only the start of the file.
const std::filesystem::path& check_text_file(const std::filesystem::path& path);

// Throws UserError if a file is missing, a directory or unreadable. Opens nothing, as it may be a pipe.
void check_readable(const std::filesystem::path& path);

}  // namespace attend
