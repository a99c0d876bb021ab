// Sums of the scores of texts, and of pairs of texts of which a model should find the first more likely.
//
// The perplexity of a text is exp(-log p / n). By piece, n counts the predicted pieces, which depend on the tokenizer;
// by word, n counts the words between white space and the predicted ends of lines, which do not.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "eval/forced_piece.hpp"
#include "eval/metrics/significance.hpp"

namespace attend {

struct ScoreSums {
  std::int64_t lines = 0;
  std::int64_t pieces = 0;  // with the ends of lines, where they are predicted
  std::int64_t words = 0;   // the same
  double log_prob = 0;

  void add_line(std::span<const ForcedPiece> scored, std::int64_t words_of_line);
  // NaN without pieces, or without words.
  double perplexity_by_piece() const;
  double perplexity_by_word() const;
};

// Contrastive pairs (Sennrich 2017, arXiv 1612.04629): of a text and one with an error, a model should find the first
// more likely. Equal probabilities count as errors.
struct ContrastTally {
  std::int64_t pairs = 0;
  std::int64_t correct = 0;

  bool add(double log_prob, double contrast_log_prob);  // true if the pair is correct
  double accuracy() const;                              // 0 to 1
  metrics::Interval interval() const;                   // Wilson's, 95 %, of independent pairs
};

// The same for all pairs, for those of each kind of error, and for those of each distance, such as the words between a
// subject and its verb (Linzen, Dupoux and Goldberg 2016, arXiv 1611.01368).
struct ContrastTable {
  ContrastTally all;
  std::map<std::string, ContrastTally> kinds;
  std::map<std::int64_t, ContrastTally> distances;

  // True if the pair is correct. A pair without a kind or a distance counts among all alone.
  bool add(double log_prob, double contrast_log_prob, const std::string& kind,
           const std::optional<std::int64_t>& distance);
};

}  // namespace attend
