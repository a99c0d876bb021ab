// Vectors of words from a text file, as GloVe (Pennington, Socher and Manning 2014) and fastText (Bojanowski et al.
// 2017, arXiv 1607.04606) are published: a line for each word, with its numbers behind it, all separated by single
// spaces. fastText's files begin with a line "COUNT WIDTH", which the others lack. Plain or gzip.
//
//   2 3
//   dog 0.5 -1 2.25
//   cat 0.25 0 1
//
// The file is untrusted. Every line must have the width that is asked for, and numbers are read for wanted words alone,
// so that memory is what these need, whatever the file says of itself. A word with spaces inside, of which published
// files have a few (". . ."), is passed over: no text has such a word.
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
  // The vectors of those words of the file for which `wanted` holds. UserError naming file and line, what is there and
  // what is expected: for another width, a line with too few or too many numbers, a number that is none or not finite,
  // a wanted word that occurs twice, another count than the first line says, and a file without vectors.
  static WordVectors read(const std::string& file, std::int64_t width,
                          const std::function<bool(std::string_view)>& wanted);

  // `width` numbers, or nullptr.
  const float* find(const std::string& word) const;
  std::size_t size() const { return rows_.size(); }

 private:
  class Reader;

  std::int64_t width_ = 0;
  std::unordered_map<std::string, std::size_t> rows_;
  std::vector<float> numbers_;
};

}  // namespace attend
