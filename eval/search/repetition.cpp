#include "eval/search/repetition.hpp"

#include <algorithm>
#include <limits>
#include <set>

namespace attend {

void RepetitionPenalty::apply(const OpenSentence& /*sentence*/, const Live& live, std::span<float> scores_V) const {
  for (const std::int32_t id : std::set(live.ids.begin(), live.ids.end())) {
    float& score = scores_V[id];
    score = static_cast<float>(score > 0 ? score / penalty_ : score * penalty_);
  }
}

void NoRepeatNgram::apply(const OpenSentence& /*sentence*/, const Live& live, std::span<float> scores_V) const {
  const std::span ids(live.ids);
  const auto n = static_cast<std::size_t>(n_);
  if (ids.size() < n) return;
  const auto newest = ids.last(n - 1);
  for (std::size_t i = 0; i + n <= ids.size(); ++i) {
    if (std::ranges::equal(ids.subspan(i, n - 1), newest)) {
      scores_V[ids[i + n - 1]] = -std::numeric_limits<float>::infinity();
    }
  }
}

}  // namespace attend
