// Vectors of the pieces of a vocabulary from vectors of words. A piece has the mean of the vectors of the words that it
// occurs in, each as often as it does in the text; a piece that is a word has that word's vector.
//
// A text's words are what white space separates. One that the file lacks is taken apart into its runs of letters and
// digits and its punctuation marks ("dog." is "dog" and "."), and a piece then belongs to the part that most of it lies
// in. Words are looked up as they are written, so a file of lower-cased words serves lower-cased text.
//
//   dog = (1 0), do = (0 1), the text "dog dog do", pieces ▁do and g:
//   ▁do = (2 dog + do) / 3 = (0.67 0.33),  g = dog = (1 0)
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "data/tokenizer/tokenizer.hpp"

namespace attend {

// How often each word occurs; ordered, so that sums are always the same.
using WordCounts = std::map<std::string, std::uint64_t, std::less<>>;
WordCounts count_words(const std::string& file);

struct PieceVectors {
  std::vector<std::int32_t> pieces = {};  // those with a vector, ascending
  std::vector<float> numbers = {};        // of each, in a row
  double share_of_pieces = 0;             // of the vocabulary that have a vector
  double share_of_tokens = 0;             // of the text's pieces that do
};

// UserError as WordVectors::read, and if no word of the text has a vector in `file`.
PieceVectors read_piece_vectors(const std::string& file, std::int64_t width, const WordCounts& words,
                                const Tokenizer& tokenizer);

}  // namespace attend
