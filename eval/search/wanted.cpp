#include "eval/search/wanted.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attend {

LogitsProcessor force_prefix(LogitsProcessors after) {
  return [after = std::move(after)](const OpenSentence& sentence, const Live& live, std::span<float> scores_V) {
    const std::vector<std::int32_t>& prefix = sentence.wanted.prefix;
    if (live.ids.size() >= prefix.size()) {
      for (const LogitsProcessor& processor : after) processor(sentence, live, scores_V);
      return;
    }
    const auto next = static_cast<std::size_t>(prefix[live.ids.size()]);
    const float log_prob = scores_V[next];
    std::ranges::fill(scores_V, kExcluded);
    scores_V[next] = log_prob;
  };
}

LogitsProcessor forbid_phrases() {
  return [](const OpenSentence& sentence, const Live& live, std::span<float> scores_V) {
    if (sentence.wanted.forbidden == nullptr) return;
    const auto& [spaced, unspaced, is_of_words] = *sentence.wanted.forbidden;
    for (const PhraseIds& phrase : spaced) {
      if (ends_with_beginning(live.ids, phrase, phrase.size() - 1)) scores_V[phrase.back()] = kExcluded;
    }
    for (const PhraseIds& phrase : unspaced) {
      if (!ends_with_beginning(live.ids, phrase, phrase.size() - 1)) continue;
      const std::size_t before = live.ids.size() - (phrase.size() - 1);  // tokens before the phrase
      if (before > 0 && is_of_words[live.ids[before - 1]]) continue;
      scores_V[phrase.back()] = kExcluded;
    }
  };
}

LogitsProcessor stop_at_text(std::int64_t eos) {
  return [eos](const OpenSentence& sentence, const Live& live, std::span<float> scores_V) {
    if (!sentence.wanted.stops || !sentence.wanted.stops(live.ids)) return;
    const bool may_end = std::isfinite(scores_V[eos]);
    std::ranges::fill(scores_V, kExcluded);
    if (may_end) scores_V[eos] = 0;
  };
}

}  // namespace attend
