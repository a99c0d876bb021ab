// Vectors for the pieces of a vocabulary, computed from word vectors. A piece gets the mean of the vectors of the words
// in which it occurs, weighted by their frequency in the text; a piece that is a word gets the word's vector.
//
// Words are separated by white space. A word without a vector is split into runs of letters and digits and single
// punctuation marks ("dog." into "dog" and "."), and a piece is assigned to the part with most of its bytes. Look-up is
// case-sensitive, so a file of lower-cased words suits lower-cased text.
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

// The frequency of each word; ordered, so that sums are reproducible.
using WordCounts = std::map<std::string, std::uint64_t, std::less<>>;
WordCounts count_words(const std::string& file);

struct PieceVectors {
  std::vector<std::int32_t> pieces = {};  // those with a vector, ascending
  std::vector<float> numbers = {};        // their vectors, concatenated
  double share_of_pieces = 0;             // share of the vocabulary that has a vector
  double share_of_tokens = 0;             // share of the text's tokens that have one
};

// Throws UserError as WordVectors::read does, and if no word of the text has a vector in `file`.
PieceVectors read_piece_vectors(const std::string& file, std::int64_t width, const WordCounts& words,
                                const Tokenizer& tokenizer);

}  // namespace attend
