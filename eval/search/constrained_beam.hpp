// Beam search with phrases that must occur: dynamic beam allocation (Post and Vilar 2018, arXiv 1804.06609). A
// hypothesis belongs to the bank of the constraint tokens that it has met: those of the phrases that stand in it, and
// those at its end with which a phrase begins; an interrupted phrase no longer counts. The candidates of a step
// are the best of all rows, the best of each row, and the next token of each phrase that is not met. The beam is shared
// out among the banks in turn (Hu et al. 2019, N19-1090): the best of each bank, the fullest bank first, then the
// second of each, and so on.
//
//   constraints "a b" and "c"    met by "x": 0    "x a": 1    "x a b": 2    "x a c": 1    "x a b c": 3, it may end
//
// A hypothesis that could not meet the rest within the maximum length is dropped, so that all constraints are met
// whatever the beam size, provided that the prefix and the rest fit. Sentences without constraints are searched as by
// Beam.
#pragma once

#include "eval/search/beam.hpp"

namespace attend {

class ConstrainedBeam final : public Beam {
 public:
  ConstrainedBeam(const SearchConfig& config, const TargetIds& ids) : Beam(config, ids) {}

  bool whole() const override { return true; }
  void advance(OpenSentence& sentence, const NextTokens& next, std::int64_t first_row) const override;

 private:
  struct Ranked {
    Candidate candidate;
    std::int64_t missing = 0;  // constraint tokens still missing after it
    bool is_next = false;      // the next token of an unmet phrase
    std::int64_t in_bank = 0;  // its place there
  };
  std::vector<Ranked> feasible(const OpenSentence& sentence, const NextTokens& next, std::int64_t first_row) const;
};

// The number of tokens of the constraints that `ids` has not met.
std::int64_t missing_tokens(const std::vector<std::int32_t>& ids, const std::vector<PhraseIds>& constraints);

}  // namespace attend
