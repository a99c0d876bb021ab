// Beam search; greedy search is a beam of 1.
//
// A beam keeps the K likeliest unfinished hypotheses of a sentence. Each step scores every continuation, and of the 2K
// best, those that end in eos and rank among the first K are finished, and the first K others continue. A sentence is
// done when K (times the patience) are finished or the maximum length is reached (as in fairseq and CTranslate2).
// Hypotheses are ranked by log p(y) / |y|^alpha, |y| counting eos: the rule of Marian, fairseq, Hugging Face and
// CTranslate2; --length-penalty-kind gnmt is that of Wu et al. 2016 (arXiv 1609.08144).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "eval/search/strategy.hpp"

namespace attend {

class Beam : public Strategy {
 public:
  Beam(const SearchConfig& config, const TargetIds& ids) : Beam(config, ids, config.beam) {}

  // pad, bos, marks and perhaps eos may be among a row's best and are skipped.
  std::int64_t candidates() const override { return 2 * size_ + 3 + std::ssize(ids_.marks); }
  void advance(OpenSentence& sentence, const NextTokens& next, std::int64_t first_row) const override;
  std::vector<Hypothesis> results(OpenSentence sentence) const override;

 protected:
  // A beam of `size` hypotheses in place of --beam.
  Beam(const SearchConfig& config, const TargetIds& ids, std::int64_t size) : config_(config), ids_(ids), size_(size) {}

  // A continuation of a live hypothesis.
  struct Candidate {
    std::int64_t live = 0;
    NextToken token = {};
    double score = 0;
  };

  // The continuations by the best tokens of each row, at most `per_row` and with a score of at least `least`; eos only
  // from the minimum length on.
  std::vector<Candidate> continuations(const std::vector<Live>& live, const NextTokens& next, std::int64_t first_row,
                                       std::int64_t per_row = std::numeric_limits<std::int64_t>::max(),
                                       double least = std::numeric_limits<double>::lowest()) const;
  // Puts the `count` best first and drops the others; of equal ones first that of the earlier row and smaller id.
  static void keep_best(std::vector<Candidate>& candidates, std::int64_t count);
  // Replaces the live hypotheses, whose first row is `first_row`, by continuations, given in order of priority: those
  // that end among the first K are finished, and the first K others continue.
  void take(OpenSentence& sentence, const std::vector<Candidate>& ranked, std::int64_t first_row) const;

  const SearchConfig& config_;
  const TargetIds& ids_;
  std::int64_t size_;  // K
};

}  // namespace attend
