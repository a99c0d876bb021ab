#include "eval/search/repetition.hpp"

#include <algorithm>
#include <set>

namespace attend {
namespace {

// The prompt and what follows it.
std::vector<std::int32_t> text_so_far(const OpenSentence& sentence, const Live& live) {
  std::vector<std::int32_t> ids = sentence.wanted.prompt;
  ids.insert(ids.end(), live.ids.begin(), live.ids.end());
  return ids;
}

}  // namespace

LogitsProcessor penalise_repetition(double penalty) {
  return [penalty](const OpenSentence& sentence, const Live& live, std::span<float> scores_V) {
    const std::vector<std::int32_t> ids = text_so_far(sentence, live);
    for (const std::int32_t id : std::set(ids.begin(), ids.end())) {
      float& score = scores_V[id];
      score = static_cast<float>(score > 0 ? score / penalty : score * penalty);
    }
  };
}

LogitsProcessor forbid_repeated_ngrams(std::int64_t length) {
  return [n = static_cast<std::size_t>(length)](const OpenSentence& sentence, const Live& live,
                                                std::span<float> scores_V) {
    const std::vector<std::int32_t> text = text_so_far(sentence, live);
    const std::span ids(text);
    if (ids.size() < n) return;
    const auto newest = ids.last(n - 1);
    for (std::size_t i = 0; i + n <= ids.size(); ++i) {
      if (std::ranges::equal(ids.subspan(i, n - 1), newest)) scores_V[ids[i + n - 1]] = kExcluded;
    }
  };
}

}  // namespace attend
