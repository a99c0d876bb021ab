// Ancestral sampling: every token is drawn from the model's distribution after the processors.
//
// A random number is a function of (seed, line, sample, step), so that samples depend on other sentences, batches and
// threads only through the rounding of logits. A sample's score is log p(y) / lp(|y|) plus a coverage penalty
// (completed()), with the model's log p before the processors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "eval/search/strategy.hpp"

namespace attend {

class Sampling final : public Strategy {
 public:
  Sampling(const SearchConfig& config, const TargetIds& ids) : config_(config), ids_(ids) {}

  std::int64_t rows() const override { return config_.sample; }
  std::int64_t candidates() const override { return 0; }
  bool whole() const override { return true; }
  void advance(OpenSentence& sentence, const NextTokens& next, std::int64_t first_row) const override;
  std::vector<Hypothesis> results(OpenSentence sentence) const override { return std::move(sentence.finished); }

 private:
  const SearchConfig& config_;
  const TargetIds& ids_;
};

// The token at which the cumulative sum of exp(score) first exceeds `uniform`, in [0, 1), of its total; none if no
// score is finite. Example: of equal scores of 4 tokens, 0.5 draws the third.
std::optional<std::int64_t> draw(std::span<const float> scores_V, double uniform);

}  // namespace attend
