// A text and its translation, line by line, and the labels of its words.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/options.hpp"
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

  // Position of the last line read of a file, "tags:12".
  std::string place(std::size_t file) const { return readers_[file].place(); }

 private:
  std::vector<std::string> files_;
  std::string text_;
  std::deque<LineReader> readers_;
  std::vector<std::string> lines_;
  std::int64_t num_lines_ = 0;
};

// Factors: labels of the words of a source text, such as parts of speech, in files beside it (Sennrich and Haddow 2016,
// W16-2209). Line n of a factor's file has one label for each word of line n of the text. Spaces and tabs separate
// words and labels.
//
//   text "a dog."    file of tags "DET NOUN"    file of cases "lower lower"
struct SourceLine {
  std::string text;
  std::vector<std::string> labels = {};  // a line for each factor
};

// Lines of a text without factors.
std::vector<SourceLine> unlabelled(std::span<const std::string> lines);

struct FactorFiles {
  std::vector<std::string> source_factors;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit, const Condition& only = {}) {
    visit("source-factors", self.source_factors,
          {.help = "labels of the source words, such as parts of speech: a file for each factor, with a label for each "
                   "word, line by line",
           .file = FileUse::read,
           .may_change = true,
           .is_input = true,
           .only = only});
  }
};

// Reads the files of factors beside a text.
class FactorReader {
 public:
  // Without files there are no labels. Throws UserError if a file cannot be read, or is standard input.
  explicit FactorReader(const std::vector<std::string>& files = {});

  // Adds the labels of the next line, given its text. Throws UserError naming the file and its line if there is not one
  // label for each word.
  void add_to(SourceLine& line);

  // As AlignedLines does.
  void finish() { labels_.finish(); }

 private:
  AlignedLines labels_;
};

// A text and its translation, read line by line in parallel.
//
//   train.en: "a dog" / "" / "a cat"      train.de: "ein Hund" / "..." / "eine Katze"
//   gives pair 1 (line 1) and pair 2 (line 3); line 2 is skipped on both sides and counted.

struct TextPair {
  std::uint64_t line = 0;  // from 1
  SourceLine src;
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
  ParallelReader(const std::string& src_file, const std::string& tgt_file,
                 const std::vector<std::string>& factor_files = {});

  // The next pair with both sides valid and non-blank; false at the end. Throws UserError naming both files and their
  // numbers of lines if these differ, and as FactorReader does.
  bool next(TextPair& pair);

  const ParallelCounts& counts() const { return counts_; }

 private:
  std::string src_file_;
  std::string tgt_file_;
  LineReader src_;
  LineReader tgt_;
  FactorReader factors_;
  ParallelCounts counts_;
};

}  // namespace attend
