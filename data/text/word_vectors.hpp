// Word vectors from a text file in the formats of GloVe (Pennington, Socher and Manning 2014) and fastText (Bojanowski
// et al. 2017, arXiv 1607.04606): a word and its numbers on each line, separated by single spaces. A fastText file
// starts with a line "COUNT WIDTH"; a GloVe file has none. Plain or gzip.
//
//   2 3
//   dog 0.5 -1 2.25
//   cat 0.25 0 1
//
// The file is untrusted. Every line must have the requested width, and only the vectors of wanted words are parsed and
// stored, so that memory does not depend on the size of the file. Words that contain spaces, of which published files
// have a few (". . ."), are skipped: they occur in no text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attend {

class WordVectors {
 public:
  // Reads the vectors of the words for which `wanted` holds. Throws UserError naming file and line, what was found and
  // what was expected: for a wrong width, a line with too few or too many numbers, an invalid or non-finite number, a
  // duplicate of a wanted word, a count that differs from the first line, and a file without vectors.
  static WordVectors read(const std::string& file, std::int64_t width,
                          const std::function<bool(std::string_view)>& wanted);

  // The vector of `word`, `width` numbers, or nullptr.
  const float* find(const std::string& word) const;
  std::size_t size() const { return rows_.size(); }

 private:
  class Reader;

  std::int64_t width_ = 0;
  std::unordered_map<std::string, std::size_t> rows_;
  std::vector<float> numbers_;
};

}  // namespace attend
