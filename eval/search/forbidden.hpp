// Phrases that must not occur, as Transformers' bad_words_ids: the last token of a phrase may not follow the others. A
// word at a place without a space before it may be tokenized differently; that form is forbidden where no word
// precedes.
//
//   forbidden "dog": spaced {▁dog}, unspaced {dog}
//   ▁the ▁dog    not this one
//   ▁( dog       nor this one
//   ▁bull dog    allowed: another word
#pragma once

#include <algorithm>
#include <limits>

#include "eval/search/processor.hpp"

namespace attend {

class ForbiddenWords final : public LogitsProcessor {
 public:
  void apply(const OpenSentence& sentence, const Live& live, std::span<float> scores_V) const override {
    if (sentence.wanted.forbidden == nullptr) return;
    const auto& [spaced, unspaced, is_of_words] = *sentence.wanted.forbidden;
    for (const PhraseIds& phrase : spaced) {
      if (ends_with_beginning(live.ids, phrase)) scores_V[phrase.back()] = -std::numeric_limits<float>::infinity();
    }
    for (const PhraseIds& phrase : unspaced) {
      if (!ends_with_beginning(live.ids, phrase)) continue;
      const std::size_t before = live.ids.size() - (phrase.size() - 1);  // tokens before the phrase
      if (before > 0 && is_of_words[live.ids[before - 1]]) continue;
      scores_V[phrase.back()] = -std::numeric_limits<float>::infinity();
    }
  }

 private:
  // True if `ids` end with all tokens of the phrase but the last.
  static bool ends_with_beginning(const std::vector<std::int32_t>& ids, const PhraseIds& phrase) {
    const std::size_t count = phrase.size() - 1;
    return ids.size() >= count && std::equal(ids.end() - static_cast<std::ptrdiff_t>(count), ids.end(), phrase.begin());
  }
};

}  // namespace attend
