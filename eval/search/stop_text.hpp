// The end of an output that stops before the model ends it, as at a text that it must not pass: only eos may follow,
// which costs nothing. The log p of eos that is reported remains the model's.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "eval/search/processor.hpp"

namespace attend {

class StopText final : public LogitsProcessor {
 public:
  explicit StopText(std::int64_t eos) : eos_(eos) {}

  void apply(const OpenSentence& sentence, const Live& live, std::span<float> scores_V) const override {
    if (!sentence.wanted.stops || !sentence.wanted.stops(live.ids)) return;
    const bool may_end = std::isfinite(scores_V[eos_]);
    std::ranges::fill(scores_V, -std::numeric_limits<float>::infinity());
    if (may_end) scores_V[eos_] = 0;
  }

 private:
  std::int64_t eos_;
};

}  // namespace attend
