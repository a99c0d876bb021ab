// Tests of word vectors: analogies, and pairs of words that people have rated. Files may be .gz or - (standard input);
// blank lines are skipped.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace attend {

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
