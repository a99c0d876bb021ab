// A text and its translation, line by line.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "data/text/lines.hpp"

namespace attend {

// Throws UserError unless a file has the `expected` number of lines, that of the text to which they belong, in messages
// "the input" or the name of its file. Without a number, the text has more lines than the file.
void check_aligned(const std::string& file, std::int64_t lines, const std::string& text,
                   std::optional<std::int64_t> expected = {});

// Files with a line for each line of a text, read beside it.
class AlignedLines {
 public:
  // Opens all files. `text` is the text's name in messages.
  AlignedLines(const std::vector<std::string>& files, std::string text);

  // The lines of all files for the next line of the text. Throws UserError if one has no more.
  const std::vector<std::string>& next();
  // Throws UserError if a file has more lines than the text, and logs what was cleaned in each.
  void finish();

 private:
  std::vector<std::string> files_;
  std::string text_;
  std::deque<LineReader> readers_;
  std::vector<std::string> lines_;
  std::int64_t num_lines_ = 0;
};

// A text and its translation, read line by line in parallel.
//
//   train.en: "a dog" / "" / "a cat"      train.de: "ein Hund" / "..." / "eine Katze"
//   gives pair 1 (line 1) and pair 2 (line 3); line 2 is skipped on both sides and counted.

struct TextPair {
  std::uint64_t line = 0;  // from 1
  std::string src;
  std::string tgt;
};

// Lines read and cleaned, and pairs skipped. `too_long` and `empty` include pairs found to be so after tokenization.
struct ParallelCounts {
  LineCounts src;
  LineCounts tgt;
  std::uint64_t empty = 0;
  std::uint64_t too_long = 0;
  std::uint64_t invalid_utf8 = 0;

  std::uint64_t skipped() const { return empty + too_long + invalid_utf8; }
  // One line, such as "29000 pairs, 3 skipped: 1 empty, 2 too long".
  std::string report() const;
};

// Throws UserError as ParallelReader does, also if the numbers of lines differ, unless they are unknown: of .gz files.
void check_parallel(const std::string& src_file, const std::string& tgt_file);

class ParallelReader {
 public:
  // Throws UserError, before anything is read, if a file is unreadable or not text.
  ParallelReader(const std::string& src_file, const std::string& tgt_file);

  // The next pair with both sides valid and non-blank; false at the end. Throws UserError naming both files and their
  // numbers of lines if these differ.
  bool next(TextPair& pair);

  const ParallelCounts& counts() const { return counts_; }

 private:
  std::string src_file_;
  std::string tgt_file_;
  LineReader src_;
  LineReader tgt_;
  ParallelCounts counts_;
};

}  // namespace attend
