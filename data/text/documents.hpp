// Raw text for pretraining: one sentence or paragraph per line, a blank line between documents.
//
//   "The sun rose. Birds sang." / "All was well." / "" / "Copper is a metal."
//   gives line 1 (first of its document), line 2, line 4 (first of its document).
#pragma once

#include <cstdint>
#include <functional>
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

// A list of files in messages: "FILE", "FIRST … LAST", or "none".
std::string name_of_files(const std::vector<std::string>& files);

class DocumentReader {
 public:
  // The end of a file ends a document. Throws UserError, before anything is read, if a file is unreadable or not text.
  explicit DocumentReader(std::vector<std::string> files);

  // The next non-blank line; false at the end. Invalid UTF-8 is replaced by U+FFFD and counted.
  bool next(DocumentLine& line);

  // Of the files read to their end.
  const LineCounts& counts() const { return counts_; }

 private:
  std::vector<std::string> files_;
  std::size_t opened_ = 0;
  std::unique_ptr<LineReader> reader_;
  std::uint64_t line_ = 0;
  bool first_ = true;
  LineCounts counts_;
};

// Splits text into sentences by Unicode's rules (UAX 29, with ICU's English exceptions such as Mr. and Mrs.) and trims
// them. For one thread, as are its copies.
using SentenceSplitter = std::function<std::vector<std::string>(std::string_view text)>;
SentenceSplitter make_sentence_splitter();

}  // namespace attend
