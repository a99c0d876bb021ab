#include "eval/search/constrained_beam.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <tuple>

namespace attend {
namespace {

using Ids = std::vector<std::int32_t>;

// The number of tokens at the end of `ids` with which a phrase begins, short of all of it.
std::size_t begun(const Ids& ids, const PhraseIds& phrase) {
  std::size_t count = phrase.size() - 1;
  while (!ends_with_beginning(ids, phrase, count)) --count;
  return count;
}

// The number of places, which may overlap, where a phrase stands.
std::ptrdiff_t count_of(const PhraseIds& phrase, std::span<const std::int32_t> ids) {
  std::ptrdiff_t count = 0;
  for (auto left = ids.begin(); (left = std::search(left, ids.end(), phrase.begin(), phrase.end())) != ids.end();
       ++left) {
    ++count;
  }
  return count;
}

// The phrases that do not stand in `ids`; one that is given several times, as often as it is missing.
std::vector<PhraseIds> unmet(std::span<const std::int32_t> ids, const std::vector<PhraseIds>& constraints) {
  std::vector<PhraseIds> result;
  std::map<PhraseIds, std::ptrdiff_t> wanted;
  for (const PhraseIds& phrase : constraints) {
    if (++wanted[phrase] > count_of(phrase, ids)) result.push_back(phrase);
  }
  return result;
}

// The tokens missing from `ids`, whose beginning, without the last token, lacks these phrases.
std::int64_t missing_of(const Ids& ids, const std::vector<PhraseIds>& open) {
  std::size_t missing = 0, most_begun = 0;
  std::set<PhraseIds> met;  // by the last token
  for (const PhraseIds& phrase : open) {
    if (ends_with_beginning(ids, phrase, phrase.size()) && met.insert(phrase).second) continue;
    missing += phrase.size();
    most_begun = std::max(most_begun, begun(ids, phrase));
  }
  return static_cast<std::int64_t>(missing - most_begun);
}

}  // namespace

std::int64_t missing_tokens(const Ids& ids, const std::vector<PhraseIds>& constraints) {
  return missing_of(ids, unmet(std::span(ids).first(ids.empty() ? 0 : ids.size() - 1), constraints));
}

void ConstrainedBeam::advance(OpenSentence& sentence, const NextTokens& next, std::int64_t first_row) const {
  std::vector<Ranked> all = feasible(sentence, next, first_row);
  std::ranges::sort(all, {}, [](const Ranked& one) {
    return std::tuple(-one.candidate.score, one.candidate.live, one.candidate.token.id);
  });
  std::vector<Ranked> chosen;
  std::set<std::int64_t> seen;                 // rows
  std::map<std::int64_t, std::int64_t> banks;  // how many each has, by the tokens that are missing
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool best_of_row = seen.insert(all[i].candidate.live).second;
    if (static_cast<std::int64_t>(i) >= 2 * size_ && !best_of_row && !all[i].is_next) continue;
    all[i].in_bank = banks[all[i].missing]++;
    chosen.push_back(all[i]);
  }
  std::ranges::stable_sort(chosen, {}, [](const Ranked& one) { return std::tuple(one.in_bank, one.missing); });
  std::vector<Candidate> ranked;
  for (const Ranked& one : chosen) ranked.push_back(one.candidate);
  take(sentence, ranked, first_row);
}

// The continuations that may still meet all constraints. Within a prefix there is only one.
std::vector<ConstrainedBeam::Ranked> ConstrainedBeam::feasible(const OpenSentence& sentence, const NextTokens& next,
                                                               std::int64_t first_row) const {
  const std::vector<Live>& live = sentence.live;
  const Wanted& wanted = sentence.wanted;
  const bool in_prefix = live.front().ids.size() < wanted.prefix.size();
  std::vector<std::vector<PhraseIds>> open;             // of each row
  std::vector<std::set<std::int64_t>> next_of_phrases;  // of each row, and not yet a candidate
  for (const Live& one : live) {
    open.push_back(unmet(one.ids, wanted.constraints));
    std::set<std::int64_t>& ids = next_of_phrases.emplace_back();
    if (in_prefix) continue;
    for (const PhraseIds& phrase : open.back()) ids.insert(phrase[begun(one.ids, phrase)]);
  }
  std::vector<Ranked> result;
  const auto add = [&](const Candidate& candidate, bool is_next) {
    Ids ids = live[candidate.live].ids;
    const bool ends = candidate.token.id == ids_.eos;
    if (!ends) ids.push_back(static_cast<std::int32_t>(candidate.token.id));
    const std::int64_t missing = missing_of(ids, open[candidate.live]);
    const std::int64_t room = ends ? 0 : wanted.longest - std::ssize(ids);
    if (in_prefix || missing <= room)
      result.push_back({.candidate = candidate, .missing = missing, .is_next = is_next});
  };
  for (const Candidate& candidate : continuations(live, next, first_row)) {
    add(candidate, next_of_phrases[candidate.live].erase(candidate.token.id) > 0);
  }
  for (std::int64_t i = 0; i < std::ssize(live); ++i) {
    for (const std::int64_t id : next_of_phrases[i]) {
      NextToken token{.id = id, .log_prob = next.log_probs(first_row + i)[id], .score = next.scores(first_row + i)[id]};
      if (!std::isfinite(token.score)) token.score = token.log_prob;  // constraints precede what is forbidden
      if (std::isfinite(token.score)) add({.live = i, .token = token, .score = live[i].score + token.score}, true);
    }
  }
  return result;
}

}  // namespace attend
