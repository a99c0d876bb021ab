#include "eval/search/diverse_beam.hpp"

#include <algorithm>
#include <iterator>
#include <map>

namespace attend {

void DiverseBeam::advance(OpenSentence& sentence, const NextTokens& next, std::int64_t first_row) const {
  const std::vector<Live> before = std::move(sentence.live);
  sentence.live.clear();
  const bool begins = before.front().ids.empty();  // all groups from one row
  const bool is_forced = before.front().ids.size() < sentence.wanted.prefix.size();
  std::map<std::int64_t, std::int64_t> uses;  // of tokens, by the groups so far
  std::int64_t row = 0;                       // the group's first
  for (std::int64_t group = 0; group < config_.diverse_groups; ++group) {
    OpenSentence part{.index = sentence.index, .wanted = sentence.wanted};
    if (begins) {
      part.live.push_back(before.front());
      part.live.back().group = group;
    } else {
      std::ranges::copy_if(before, std::back_inserter(part.live),
                           [&](const Live& live) { return live.group == group; });
    }
    if (part.live.empty()) continue;  // done
    const std::int64_t num_rows = begins ? 0 : std::ssize(part.live);
    std::ranges::copy_if(sentence.finished, std::back_inserter(part.finished),
                         [&](const Hypothesis& hypothesis) { return hypothesis.group == group; });
    const auto old = std::ssize(part.finished);
    std::vector<Candidate> candidates = continuations(part.live, next, first_row + row);
    for (Candidate& candidate : candidates) {
      const auto used = uses.find(candidate.token.id);
      if (is_forced || used == uses.end()) continue;
      candidate.token.score -= static_cast<float>(config_.diversity * static_cast<double>(used->second));
      candidate.score = part.live[candidate.live].score + candidate.token.score;
    }
    keep_best(candidates, 2 * size_);
    take(part, candidates, first_row + row);
    for (const Live& live : part.live) ++uses[live.ids.back()];
    for (auto it = part.finished.begin() + old; it != part.finished.end(); ++it) {
      if (it->ids.size() > before.front().ids.size()) ++uses[it->ids.back()];  // at the maximum length
    }
    std::ranges::move(part.live, std::back_inserter(sentence.live));
    std::move(part.finished.begin() + old, part.finished.end(), std::back_inserter(sentence.finished));
    row += num_rows;
  }
}

}  // namespace attend
