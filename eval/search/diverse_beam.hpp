// Diverse beam search (Vijayakumar et al. 2016, arXiv 1610.02424) with Hamming diversity, as Transformers' group beam
// search: the beam is G groups of K / G hypotheses. In each step the groups continue one after the other, each as its
// own beam, with these scores of a token y:
//
//   log p(y) - D * (hypotheses of earlier groups that continued with y in this step)
//
// The tokens of a prefix, which no group can avoid, are not penalised. The penalties remain in the scores of a
// hypothesis. A sentence is done when all of its groups are; their hypotheses are ranked together.
#pragma once

#include "eval/search/beam.hpp"

namespace attend {

class DiverseBeam final : public Beam {
 public:
  DiverseBeam(const SearchConfig& config, const TargetIds& ids)
      : Beam(config, ids, config.beam / config.diverse_groups) {}

  // The best tokens of a row are among these whatever other groups chose.
  std::int64_t candidates() const override { return Beam::candidates() + config_.beam - size_; }
  void advance(OpenSentence& sentence, const NextTokens& next, std::int64_t first_row) const override;
};

}  // namespace attend
