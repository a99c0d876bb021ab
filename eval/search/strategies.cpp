#include "eval/search/strategies.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/random.hpp"

namespace attend {
namespace {

// `parent`, a row of the last step, continued by a token; eos is scored but not appended.
Live continued(const Live& parent, std::int64_t row, const NextToken& token, const TargetIds& ids) {
  Live live = parent;
  live.parent = row;
  if (token.id != ids.eos) live.ids.push_back(static_cast<std::int32_t>(token.id));
  live.token_log_probs.push_back(token.log_prob);
  live.log_prob += token.log_prob;
  live.score += token.score;
  return live;
}

// A complete hypothesis with its ranking criterion: score / lp(|y|), plus the coverage penalty.
Hypothesis completed(Live live, bool ended, const SearchConfig& config) {
  const double length = std::max(1.0, static_cast<double>(live.ids.size() + (ended ? 1 : 0)));
  return {.ids = std::move(live.ids),
          .token_log_probs = std::move(live.token_log_probs),
          .log_prob = live.log_prob,
          .score = live.score / config.length_norm(length) + config.coverage_penalty * live.coverage,
          .ended = ended,
          .group = live.group};
}

// Beam search; greedy search is a beam of 1.
//
// A beam keeps the K likeliest unfinished hypotheses of a sentence. Each step scores every continuation, and of the 2K
// best, those that end in eos and rank among the first K are finished, and the first K others continue. A sentence is
// done when K (times the patience) are finished or the maximum length is reached (as in fairseq and CTranslate2).
// Hypotheses are ranked by log p(y) / |y|^alpha, |y| counting eos: the rule of Marian, fairseq, Hugging Face and
// CTranslate2; --length-penalty-kind gnmt is that of Wu et al. 2016 (arXiv 1609.08144).
class Beam : public Strategy {
 public:
  Beam(const SearchConfig& config, const TargetIds& ids) : Beam(config, ids, config.beam) {}

  // pad, bos, marks and perhaps eos may be among a row's best and are skipped.
  std::int64_t candidates() const override { return 2 * size_ + 3 + std::ssize(ids_.marks); }
  void advance(OpenSentence& sentence, const NextTokens& next, std::int64_t first_row) const override {
    const std::int64_t count = 2 * size_, per_row = 2 + 2 * count / std::ssize(sentence.live);
    std::vector<Candidate> best = continuations(sentence.live, next, first_row, per_row);
    keep_best(best, count);
    if (std::ssize(best) == count) {  // the best of all have at least the score of the last of these
      best = continuations(sentence.live, next, first_row, candidates(), best.back().score);
      keep_best(best, count);
    }
    take(sentence, best, first_row);
  }

  std::vector<Hypothesis> results(OpenSentence sentence) const override {
    std::ranges::stable_sort(sentence.finished, std::greater(), &Hypothesis::score);
    if (std::ssize(sentence.finished) > config_.nbest) sentence.finished.resize(config_.nbest);
    return std::move(sentence.finished);
  }

 protected:
  // A beam of `size` hypotheses in place of --beam.
  Beam(const SearchConfig& config, const TargetIds& ids, std::int64_t size) : config_(config), ids_(ids), size_(size) {}

  // A continuation of a live hypothesis.
  struct Candidate {
    std::int64_t live = 0;
    NextToken token = {};
    double score = 0;
  };

  // The continuations by the best tokens of each row, at most `per_row` and with a score of at least `least`; eos only
  // from the minimum length on.
  std::vector<Candidate> continuations(const std::vector<Live>& live, const NextTokens& next, std::int64_t first_row,
                                       std::int64_t per_row = std::numeric_limits<std::int64_t>::max(),
                                       double least = std::numeric_limits<double>::lowest()) const {
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

  // Puts the `count` best first and drops the others; of equal ones first that of the earlier row and smaller id.
  static void keep_best(std::vector<Candidate>& candidates, std::int64_t count) {
    const auto kept = std::min<std::ptrdiff_t>(count, std::ssize(candidates));
    std::partial_sort(candidates.begin(), candidates.begin() + kept, candidates.end(),
                      [](const Candidate& a, const Candidate& b) {
                        return std::tuple(-a.score, a.live, a.token.id) < std::tuple(-b.score, b.live, b.token.id);
                      });
    candidates.resize(kept);
  }

  // Replaces the live hypotheses, whose first row is `first_row`, by continuations, given in order of priority: those
  // that end among the first K are finished, and the first K others continue.
  void take(OpenSentence& sentence, const std::vector<Candidate>& ranked, std::int64_t first_row) const {
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

  const SearchConfig& config_;
  const TargetIds& ids_;
  std::int64_t size_;  // K
};

// Diverse beam search (Vijayakumar et al. 2016, arXiv 1610.02424) with Hamming diversity, as Transformers' group beam
// search: the beam is G groups of K / G hypotheses. In each step the groups continue one after the other, each as its
// own beam, with these scores of a token y:
//
//   log p(y) - D * (hypotheses of earlier groups that continued with y in this step)
//
// The tokens of a prefix, which no group can avoid, are not penalised. The penalties remain in the scores of a
// hypothesis. A sentence is done when all of its groups are; their hypotheses are ranked together.
class DiverseBeam final : public Beam {
 public:
  DiverseBeam(const SearchConfig& config, const TargetIds& ids)
      : Beam(config, ids, config.beam / config.diverse_groups) {}

  // The best tokens of a row are among these whatever other groups chose.
  std::int64_t candidates() const override { return Beam::candidates() + config_.beam - size_; }
  void advance(OpenSentence& sentence, const NextTokens& next, std::int64_t first_row) const override {
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
};

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
  return missing - most_begun;
}

// Beam search with phrases that must occur: dynamic beam allocation (Post and Vilar 2018, arXiv 1804.06609). A
// hypothesis belongs to the bank of the constraint tokens that it has met: those of the phrases that stand in it, and
// those at its end with which a phrase begins; an interrupted phrase no longer counts. The candidates of a step
// are the best of all rows, the best of each row, and the next token of each phrase that is not met. The beam is shared
// out among the banks in turn (Hu et al. 2019, N19-1090): the best of each bank, the fullest bank first, then the
// second of each, and so on.
//
//   constraints "a b" and "c"    met by "x": 0    "x a": 1    "x a b": 2    "x a c": 1    "x a b c": 3, it may end
//
// A hypothesis that could not meet the rest within the maximum length is dropped, so that all constraints are met
// whatever the beam size, provided that the prefix and the rest fit. Sentences without constraints are searched as by
// Beam.
class ConstrainedBeam final : public Beam {
 public:
  ConstrainedBeam(const SearchConfig& config, const TargetIds& ids) : Beam(config, ids) {}

  bool whole() const override { return true; }
  void advance(OpenSentence& sentence, const NextTokens& next, std::int64_t first_row) const override {
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

 private:
  struct Ranked {
    Candidate candidate;
    std::int64_t missing = 0;  // constraint tokens still missing after it
    bool is_next = false;      // the next token of an unmet phrase
    std::int64_t in_bank = 0;  // its place there
  };

  // The continuations that may still meet all constraints. Within a prefix there is only one.
  std::vector<Ranked> feasible(const OpenSentence& sentence, const NextTokens& next, std::int64_t first_row) const {
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
      const std::int64_t missing =
          ends ? missing_tokens(ids, wanted.constraints) : missing_of(ids, open[candidate.live]);
      const std::int64_t room = ends ? 0 : wanted.longest - std::ssize(ids);
      if (in_prefix || missing <= room)
        result.push_back({.candidate = candidate, .missing = missing, .is_next = is_next});
    };
    for (const Candidate& candidate : continuations(live, next, first_row)) {
      add(candidate, next_of_phrases[candidate.live].erase(candidate.token.id) > 0);
    }
    for (std::int64_t i = 0; i < std::ssize(live); ++i) {
      for (const std::int64_t id : next_of_phrases[i]) {
        NextToken token{
            .id = id, .log_prob = next.log_probs(first_row + i)[id], .score = next.scores(first_row + i)[id]};
        if (!std::isfinite(token.score)) token.score = token.log_prob;  // constraints precede what is forbidden
        if (std::isfinite(token.score)) add({.live = i, .token = token, .score = live[i].score + token.score}, true);
      }
    }
    return result;
  }
};

// The token at which the cumulative sum of exp(score) first exceeds `uniform`, in [0, 1), of its total; none if no
// score is finite. Example: of equal scores of 4 tokens, 0.5 draws the third.
std::optional<std::int64_t> draw(std::span<const float> scores_V, double uniform) {
  double highest = -std::numeric_limits<double>::infinity();
  for (const float score : scores_V) {
    if (std::isfinite(score)) highest = std::max<double>(highest, score);
  }
  if (!std::isfinite(highest)) return std::nullopt;
  std::vector<double> sums(scores_V.size());
  double sum = 0;
  for (std::size_t i = 0; i < scores_V.size(); ++i) {
    if (std::isfinite(scores_V[i])) sum += std::exp(scores_V[i] - highest);
    sums[i] = sum;
  }
  const double drawn = std::min(uniform * sum, std::nextafter(sum, 0.0));  // rounding must not pass the last token
  return std::ranges::upper_bound(sums, drawn) - sums.begin();
}

// Ancestral sampling: every token is drawn from the model's distribution after the processors.
//
// A random number is a function of (seed, line, sample, step), so that samples depend on other sentences, batches and
// threads only through the rounding of logits. A sample's score is log p(y) / lp(|y|) plus a coverage penalty
// (completed()), with the model's log p before the processors.
class Sampling final : public Strategy {
 public:
  Sampling(const SearchConfig& config, const TargetIds& ids) : config_(config), ids_(ids) {}

  std::int64_t rows() const override { return config_.sample; }
  std::int64_t candidates() const override { return 0; }
  bool whole() const override { return true; }
  void advance(OpenSentence& sentence, const NextTokens& next, std::int64_t first_row) const override {
    std::vector<Live> before = std::move(sentence.live);
    sentence.live.clear();
    sentence.finished.resize(config_.sample);
    for (std::int64_t i = 0; i < std::ssize(before); ++i) {
      const std::int64_t row = first_row + i;
      Hypothesis& result = sentence.finished[before[i].sample];
      const auto key = combine_keys(config_.seed, sentence.wanted.line, before[i].sample, before[i].ids.size());
      const auto id = draw(next.scores(row), RandomStream(key).uniform());
      if (!id) {  // no continuation has a probability
        result = completed(std::move(before[i]), false, config_);
        continue;
      }
      const float log_prob = next.log_probs(row)[*id];
      Live live = continued(before[i], row, {.id = *id, .log_prob = log_prob, .score = log_prob}, ids_);
      const bool ended = *id == ids_.eos;
      if (ended || std::ssize(live.ids) >= sentence.wanted.longest) {
        result = completed(std::move(live), ended, config_);
      } else {
        sentence.live.push_back(std::move(live));
      }
    }
  }

  std::vector<Hypothesis> results(OpenSentence sentence) const override { return std::move(sentence.finished); }

 private:
  const SearchConfig& config_;
  const TargetIds& ids_;
};

}  // namespace

std::int64_t missing_tokens(const Ids& ids, const std::vector<PhraseIds>& constraints) {
  return missing_of(ids, unmet(std::span(ids).first(ids.empty() ? 0 : ids.size() - 1), constraints));
}

std::unique_ptr<const Strategy> make_strategy(const SearchConfig& config, const TargetIds& ids,
                                              std::span<const Wanted> wanted) {
  if (config.sample > 0) return std::make_unique<Sampling>(config, ids);
  if (std::ranges::any_of(wanted, [](const Wanted& one) { return !one.constraints.empty(); })) {
    return std::make_unique<ConstrainedBeam>(config, ids);
  }
  if (config.diverse_groups > 0) return std::make_unique<DiverseBeam>(config, ids);
  return std::make_unique<Beam>(config, ids);
}

}  // namespace attend
