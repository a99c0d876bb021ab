// A prefix with which the output begins: only its next token may follow, with the model's log p, which counts. Other
// processors do not change the prefix; they act after it.
#pragma once

#include <limits>
#include <utility>

#include "eval/search/processor.hpp"

namespace attend {

class ForcedPrefix final : public LogitsProcessor {
 public:
  explicit ForcedPrefix(LogitsProcessors after) : after_(std::move(after)) {}

  void apply(const OpenSentence& sentence, const Live& live, std::span<float> scores_V) const override {
    const std::vector<std::int32_t>& prefix = sentence.wanted.prefix;
    if (live.ids.size() >= prefix.size()) {
      for (const auto& processor : after_) processor->apply(sentence, live, scores_V);
      return;
    }
    const auto next = static_cast<std::size_t>(prefix[live.ids.size()]);
    const float log_prob = scores_V[next];
    std::ranges::fill(scores_V, -std::numeric_limits<float>::infinity());
    scores_V[next] = log_prob;
  }

 private:
  LogitsProcessors after_;
};

}  // namespace attend
