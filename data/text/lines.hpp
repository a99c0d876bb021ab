// Lines of text as they come in the wild: plain files, .gz files and standard input, cleaned as they are read.
//
// Only \n ends a line; a last line without one counts. What is cleaned, and counted:
//   the CR of a CRLF and a byte-order mark at the start   taken away
//   NUL                                                   taken away
//   other line ends inside a line (CR, VT, FF, U+0085, U+2028, U+2029, FS, GS, RS)   become a space
//   bytes that are no UTF-8                               become U+FFFD; the line says so by invalid()
// So a line that was read is valid UTF-8, and no program takes it for two lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attend {

// How many lines were read, and in how many of them each thing was cleaned.
struct LineCounts {
  std::uint64_t lines = 0;
  std::uint64_t carriage_returns = 0;
  std::uint64_t byte_order_marks = 0;
  std::uint64_t nul = 0;
  std::uint64_t line_ends = 0;
  std::uint64_t invalid_utf8 = 0;

  LineCounts& operator+=(const LineCounts& other);
  bool clean() const;
  // "120 lines: 3 with invalid UTF-8, 120 with CRLF (CR taken away)"; names only what was met.
  std::string report() const;
  // Says in the log what reading `name`, a file or - for standard input, has cleaned, if anything.
  void log(const std::string& name) const;
};

class LineReader {
 public:
  // "-" is standard input; a file that starts with gzip's mark is unpacked. UserError when the file cannot be read, and
  // from next() when it breaks off, or standard input starts with that mark.
  explicit LineReader(const std::filesystem::path& path);
  ~LineReader();

  // False at the end, and `line` is untouched. UserError for a line that is longer than any text has (64 MB),
  // Interrupted when a signal asks to stop.
  bool next(std::string& line);

  // Whether the line last read held bytes that are no UTF-8.
  bool invalid() const { return invalid_; }
  const LineCounts& counts() const { return counts_; }
  // "corpus.en:12", of the line last read.
  std::string place() const;

 private:
  class Source;
  friend void check_text_file(const std::filesystem::path& path);

  void clean(std::string& line);

  std::unique_ptr<Source> source_;
  std::string raw_;
  std::string cleaned_;
  bool invalid_ = false;
  LineCounts counts_;
};

// What messages call a file, or - for standard input.
std::string name_of_input(const std::filesystem::path& path);

// Whether a line or value holds nothing but spaces and tabs.
inline bool is_blank(std::string_view text) { return text.find_first_not_of(" \t") == std::string_view::npos; }

// `text` without the spaces, tabs and line ends around it.
std::string trimmed(std::string_view text);

// `text` with a space for every line end and NUL in it.
std::string as_one_line(std::string_view text);

// UserError unless `path` is a readable, non-empty regular file of text (plain or gzip): says when it is missing, a
// directory, empty, UTF-16 or not text. Reads only its start.
void check_text_file(const std::filesystem::path& path);

}  // namespace attend
