// Processors against repetition, for beams and samples. What a prompt contains is repeated, too.
#pragma once

#include "eval/search/processor.hpp"

namespace attend {

// Multiplies log p of every token that the hypothesis contains by a factor, once however often it occurs (Keskar et al.
// 2019, arXiv 1909.05858, section 4.1). The paper divides logits, whose sign it leaves open; as in Transformers' beam
// search, a score above 0 is divided and any other, as log p is, multiplied.
class RepetitionPenalty final : public LogitsProcessor {
 public:
  explicit RepetitionPenalty(double penalty) : penalty_(penalty) {}
  void apply(const OpenSentence& sentence, const Live& live, std::span<float> scores_V) const override;

 private:
  double penalty_;
};

// Excludes every token that would complete an n-gram of tokens for a second time (Paulus et al. 2018, arXiv 1705.04304,
// section 2.5, for trigrams; as in fairseq and Transformers). Example, n = 2: after "a b a", b cannot follow.
class NoRepeatNgram final : public LogitsProcessor {
 public:
  explicit NoRepeatNgram(std::int64_t n) : n_(n) {}
  void apply(const OpenSentence& sentence, const Live& live, std::span<float> scores_V) const override;

 private:
  std::int64_t n_;
};

}  // namespace attend
