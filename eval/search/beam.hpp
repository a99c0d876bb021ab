// Beam search; greedy search is a beam of 1.
//
// A beam keeps the K likeliest unfinished hypotheses of a sentence. Each step scores every continuation, and of the 2K
// best, those that end in eos and rank among the first K are finished, and the first K others continue. A sentence is
// done when K are finished or the maximum length is reached (as in fairseq and CTranslate2). Hypotheses are ranked by
// log p(y) / |y|^alpha, |y| counting eos: the rule of Marian, fairseq, Hugging Face and CTranslate2, not the
// ((5 + |y|) / 6)^alpha of Wu et al. 2016 (arXiv 1609.08144).
#pragma once

#include <cstdint>
#include <vector>

#include "eval/search/strategy.hpp"

namespace attend {

class Beam final : public Strategy {
 public:
  Beam(const SearchConfig& config, const TargetIds& ids) : config_(config), ids_(ids) {}

  // pad, bos and perhaps eos may stand among a row's best and are passed over.
  std::int64_t candidates() const override { return 2 * config_.beam + 3; }
  void advance(OpenSentence& sentence, const NextTokens& next, std::int64_t first_row) const override;
  std::vector<Hypothesis> results(OpenSentence sentence) const override;

 private:
  // A continuation of a live hypothesis.
  struct Candidate {
    std::int64_t live = 0;
    NextToken token = {};
    double score = 0;
  };
  std::vector<Candidate> best_candidates(const std::vector<Live>& live, const NextTokens& next,
                                         std::int64_t first_row) const;

  const SearchConfig& config_;
  const TargetIds& ids_;
};

}  // namespace attend
