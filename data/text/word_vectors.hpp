// Word vectors, and tests of them.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace attend {

// Word vectors in a text file. A line has a word and the numbers of its vector, separated by single spaces, as GloVe
// writes them (Pennington et al. 2014); word2vec and fastText write a line "count width" before all others:
//
//   3 2
//   the 0.1 -0.2
//   king 0.7 0.3
//   queen 0.6 0.4

struct WordVectors {
  std::vector<std::string> words = {};  // V, in the order of the file, which is usually that of their frequencies
  std::int64_t width = 0;               // E
  std::vector<float> values = {};       // [V, E], row by row
};

// The first `most` vectors of a file, which may be .gz or - (standard input). Blank and repeated words are left out
// with a warning. A word may contain spaces, as some of GloVe's do, but no number after a space.
//
// Throws UserError naming the file and its line if a line has another number of values than the first one, or a value
// that is not a finite number; and naming the file if it is empty or, read to its end, has not as many vectors as
// its first line states.
WordVectors read_word_vectors(const std::filesystem::path& path, std::int64_t most);

// Tests of word vectors: analogies, and pairs of words that people have rated. Files may be .gz or - (standard input);
// blank lines are skipped.

// a is to b as c is to d.
using AnalogyQuestion = std::array<std::string, 4>;
struct AnalogySection {
  std::string name = {};
  std::vector<AnalogyQuestion> questions = {};
};

// Analogies as in Google's questions-words.txt (Mikolov et al. 2013, arXiv 1301.3781): a section begins with a line
// ": name", and each of its lines has four words. Throws UserError naming the file and its line if a question has
// another number of words or precedes all sections; or the file, if it has no question.
std::vector<AnalogySection> read_analogies(const std::filesystem::path& path);

struct RatedPair {
  std::string first = {}, second = {};
  double score = 0;
};

// Lines "first TAB second TAB score"; one that begins with # is a comment. Throws UserError naming the file and its
// line if a line has another number of fields, a blank word, or a score that is not a finite number; or the file, if it
// has no pair.
std::vector<RatedPair> read_rated_pairs(const std::filesystem::path& path);

}  // namespace attend
