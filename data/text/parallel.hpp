// A text and its translation, read line by line in parallel.
//
//   train.en: "a dog" / "" / "a cat"      train.de: "ein Hund" / "..." / "eine Katze"
//   gives pair 1 (line 1) and pair 2 (line 3); line 2 is skipped on both sides and counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/text/factors.hpp"
#include "data/text/lines.hpp"

namespace attend {

struct TextPair {
  std::uint64_t line = 0;  // from 1
  std::string src;         // followed by the labels of its factors (factors.hpp), if there are any
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
