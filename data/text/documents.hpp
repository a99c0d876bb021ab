// Raw text for pretraining: a sentence or a paragraph a line, a blank line between documents.
//
//   "The sun rose. Birds sang." / "All was well." / "" / "Copper is a metal."
//   gives line 1 (first of its document), line 2, line 4 (first of its document).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/lines.hpp"

namespace attend {

struct DocumentLine {
  std::uint64_t line = 0;  // from 1, counted over all files
  bool first = false;      // of its document
  std::string text;
};

// What to call texts of these files: "FILE", or "FIRST … LAST"; "none".
std::string name_of_files(const std::vector<std::string>& files);

class DocumentReader {
 public:
  // The end of a file ends a document. UserError before anything is read when a file cannot be read or is no text.
  explicit DocumentReader(std::vector<std::string> files);

  // The next line that is not blank; false at the end. Invalid UTF-8 becomes U+FFFD and is counted.
  bool next(DocumentLine& line);

  const LineCounts& counts() const { return counts_; }

 private:
  std::vector<std::string> files_;
  std::size_t opened_ = 0;
  std::unique_ptr<LineReader> reader_;
  std::uint64_t line_ = 0;
  bool first_ = true;
  LineCounts counts_;
};

// The sentences of a text by Unicode's rules (UAX 29, as ICU has them for English, which knows that none ends at Mr. or
// Mrs.), each without the space around it.
class SentenceSplitter {
 public:
  SentenceSplitter();
  SentenceSplitter(const SentenceSplitter&) = delete;
  SentenceSplitter& operator=(const SentenceSplitter&) = delete;
  ~SentenceSplitter();

  std::vector<std::string> split(std::string_view text);

 private:
  struct Iterator;
  std::unique_ptr<Iterator> iterator_;
};

}  // namespace attend
