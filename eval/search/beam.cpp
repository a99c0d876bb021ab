#include "eval/search/beam.hpp"

#include <algorithm>
#include <functional>
#include <tuple>

namespace attend {

void Beam::advance(OpenSentence& sentence, const NextTokens& next, std::int64_t first_row) const {
  const std::int64_t count = 2 * size_, per_row = 2 + 2 * count / std::ssize(sentence.live);
  std::vector<Candidate> best = continuations(sentence.live, next, first_row, per_row);
  keep_best(best, count);
  if (std::ssize(best) == count) {  // the best of all have at least the score of the last of these
    best = continuations(sentence.live, next, first_row, candidates(), best.back().score);
    keep_best(best, count);
  }
  take(sentence, best, first_row);
}

void Beam::take(OpenSentence& sentence, const std::vector<Candidate>& ranked, std::int64_t first_row) const {
  std::vector<Live> before = std::move(sentence.live);
  sentence.live.clear();
  const auto finish = [&](Live live, bool ended) {
    sentence.finished.push_back(completed(std::move(live), ended, config_));
  };
  std::int64_t rank = 0;
  for (const Candidate& candidate : ranked) {
    const bool ends = candidate.token.id == ids_.eos;
    const bool kept = ends ? rank < size_ : std::ssize(sentence.live) < size_;
    ++rank;
    if (!kept) continue;
    Live live = continued(before[candidate.live], first_row + candidate.live, candidate.token, ids_);
    if (ends) {
      finish(std::move(live), true);
    } else {
      sentence.live.push_back(std::move(live));
    }
  }
  if (sentence.live.empty() && sentence.finished.empty()) {  // no continuation has a probability
    finish(std::move(before.front()), false);
  }
  if (std::ssize(sentence.finished) >= config_.enough(size_)) {
    sentence.live.clear();
  } else if (!sentence.live.empty() && std::ssize(sentence.live.front().ids) >= sentence.wanted.longest) {
    for (Live& live : sentence.live) finish(std::move(live), false);
    sentence.live.clear();
  }
}

std::vector<Beam::Candidate> Beam::continuations(const std::vector<Live>& live, const NextTokens& next,
                                                 std::int64_t first_row, std::int64_t per_row, double least) const {
  std::vector<Candidate> candidates;
  for (std::int64_t i = 0; i < std::ssize(live); ++i) {
    std::int64_t left = per_row;
    for (const NextToken& token : next.best(first_row + i)) {
      const double score = live[i].score + token.score;
      if (left == 0 || score < least) break;
      if (!ids_.may_follow(token.id, std::ssize(live[i].ids), config_.min_length)) continue;
      candidates.push_back({.live = i, .token = token, .score = score});
      --left;
    }
  }
  return candidates;
}

void Beam::keep_best(std::vector<Candidate>& candidates, std::int64_t count) {
  const auto kept = std::min<std::ptrdiff_t>(count, std::ssize(candidates));
  std::partial_sort(candidates.begin(), candidates.begin() + kept, candidates.end(),
                    [](const Candidate& a, const Candidate& b) {
                      return std::tuple(-a.score, a.live, a.token.id) < std::tuple(-b.score, b.live, b.token.id);
                    });
  candidates.resize(kept);
}

std::vector<Hypothesis> Beam::results(OpenSentence sentence) const {
  std::ranges::stable_sort(sentence.finished, std::greater(), &Hypothesis::score);
  if (std::ssize(sentence.finished) > config_.nbest) sentence.finished.resize(config_.nbest);
  return std::move(sentence.finished);
}

}  // namespace attend
