#include "eval/search/processors.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "models/ops/ops.hpp"

namespace attend {
namespace {

// The score of a token that cannot follow.
constexpr float kExcluded = -std::numeric_limits<float>::infinity();

// Processors against repetition, for beams and samples. Repeating the prompt counts, too.

// The prompt and what follows it.
std::vector<std::int32_t> text_so_far(const OpenSentence& sentence, const Live& live) {
  std::vector<std::int32_t> ids = sentence.wanted.prompt;
  ids.insert(ids.end(), live.ids.begin(), live.ids.end());
  return ids;
}

// Multiplies log p of every token that the hypothesis contains by a factor, once however often it occurs (Keskar et al.
// 2019, arXiv 1909.05858, section 4.1). The paper divides logits, whose sign it leaves open; as in Transformers' beam
// search, a score above 0 is divided and any other, as log p is, multiplied.
LogitsProcessor penalise_repetition(double penalty) {
  return [penalty](const OpenSentence& sentence, const Live& live, std::span<float> scores_V) {
    const std::vector<std::int32_t> ids = text_so_far(sentence, live);
    for (const std::int32_t id : std::set(ids.begin(), ids.end())) {
      float& score = scores_V[id];
      score = static_cast<float>(score > 0 ? score / penalty : score * penalty);
    }
  };
}

// Excludes every token that would complete a sequence of `length` tokens for a second time (Paulus et al. 2018, arXiv
// 1705.04304, section 2.5, for trigrams; as in fairseq and Transformers). Example, length 2: after "a b a", b cannot
// follow.
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

// Processors that shape the distribution from which a sample is drawn. They equal Transformers' processors, in the
// order of its `generate`: temperature, top-k, top-p, min-p, epsilon. Each sees the distribution that the one before it
// left, rescaled to a sum of 1.

// Excludes tokens that no output contains, as a beam does (TargetIds::may_follow).
LogitsProcessor drop_unproduced(const TargetIds& ids, std::int64_t min_length) {
  return [ids, min_length](const OpenSentence&, const Live& live, std::span<float> scores_V) {
    for (const std::int64_t id : {ids.pad, ids.bos, ids.eos, ids.marks[0], ids.marks[1], ids.marks[2]}) {
      if (id >= 0 && !ids.may_follow(id, std::ssize(live.ids), min_length)) scores_V[id] = kExcluded;
    }
  };
}

// p^(1/T) / sum p^(1/T).
LogitsProcessor divide_by_temperature(double temperature) {
  return [temperature](const OpenSentence&, const Live&, std::span<float> scores_V) {
    for (float& score : scores_V) score = static_cast<float>(score / temperature);
  };
}

// The others exclude the tokens whose score is below a threshold. Of several scores equal to the threshold all are
// kept, and the highest score is always kept.

// log sum exp of the scores: subtracted from them, it gives log p.
double log_normaliser(const std::vector<float>& scores) {
  const double highest = *std::ranges::max_element(scores);
  double sum = 0;
  for (const float score : scores) sum += std::exp(score - highest);
  return highest + std::log(sum);
}

// Excludes the tokens below threshold(scores). The scores are those that are finite, at least one; it may reorder them.
LogitsProcessor truncation(std::function<double(std::vector<float>&)> threshold) {
  return [threshold = std::move(threshold)](const OpenSentence&, const Live&, std::span<float> scores_V) {
    std::vector<float> finite;
    finite.reserve(scores_V.size());
    std::ranges::copy_if(scores_V, std::back_inserter(finite), [](float score) { return std::isfinite(score); });
    if (finite.empty()) return;
    const double lowest = threshold(finite);
    for (float& score : scores_V) {
      if (score < lowest) score = kExcluded;
    }
  };
}

// Keeps the k highest (Fan et al. 2018, arXiv 1805.04833).
LogitsProcessor keep_top_k(std::int64_t k) {
  return truncation([k](std::vector<float>& scores) -> double {
    if (k >= std::ssize(scores)) return kExcluded;
    const auto last = scores.begin() + (k - 1);
    std::nth_element(scores.begin(), last, scores.end(), std::greater());
    return *last;
  });
}

// Keeps the fewest highest whose probabilities sum to p or more (nucleus sampling: Holtzman et al. 2020, arXiv
// 1904.09751, equation 2). Example: of 0.5, 0.3 and 0.2 it keeps two for p = 0.7.
// Sorts ever longer beginnings only: mostly, a few tokens have nearly all of the probability.
LogitsProcessor keep_top_p(double p) {
  return truncation([p](std::vector<float>& scores) -> double {
    const double normaliser = log_normaliser(scores);
    double mass = 0;
    auto begin = scores.begin();
    for (std::ptrdiff_t size = 64; begin != scores.end(); size *= 4) {
      const auto end = begin + std::min<std::ptrdiff_t>(size, scores.end() - begin);
      if (end != scores.end()) std::nth_element(begin, end, scores.end(), std::greater());
      std::sort(begin, end, std::greater());
      for (; begin != end; ++begin) {
        mass += std::exp(*begin - normaliser);
        if (mass >= p) return *begin;
      }
    }
    return kExcluded;  // p is within a rounding of 1
  });
}

// Keeps those with at least a share of the highest probability (Nguyen et al. 2024, arXiv 2407.01082).
LogitsProcessor keep_min_p(double share) {
  return truncation(
      [share](std::vector<float>& scores) { return *std::ranges::max_element(scores) + std::log(share); });
}

// Keeps those with at least the probability `epsilon`, or else the highest (Hewitt et al. 2022, arXiv 2210.15191).
LogitsProcessor keep_epsilon(double epsilon) {
  return truncation([epsilon](std::vector<float>& scores) {
    const double highest = *std::ranges::max_element(scores);
    return std::min(highest, log_normaliser(scores) + std::log(epsilon));
  });
}

void add_truncations(const SearchConfig& config, const TargetIds& ids, LogitsProcessors& processors) {
  processors.push_back(drop_unproduced(ids, config.min_length));
  if (config.temperature != 1) processors.push_back(divide_by_temperature(config.temperature));
  if (config.top_k > 0) processors.push_back(keep_top_k(config.top_k));
  if (config.top_p < 1) processors.push_back(keep_top_p(config.top_p));
  if (config.min_p > 0) processors.push_back(keep_min_p(config.min_p));
  if (config.epsilon.value_or(0) > 0) processors.push_back(keep_epsilon(*config.epsilon));
}

// Processors for the requests of a sentence (Wanted).

// A prefix with which the output begins: only its next token may follow, with the model's log p, which counts. Other
// processors do not change the prefix; they act after it.
LogitsProcessor force_prefix(LogitsProcessors after) {
  return [after = std::move(after)](const OpenSentence& sentence, const Live& live, std::span<float> scores_V) {
    const std::vector<std::int32_t>& prefix = sentence.wanted.prefix;
    if (live.ids.size() >= prefix.size()) {
      for (const LogitsProcessor& processor : after) processor(sentence, live, scores_V);
      return;
    }
    const std::size_t next = prefix[live.ids.size()];
    const float log_prob = scores_V[next];
    std::ranges::fill(scores_V, kExcluded);
    scores_V[next] = log_prob;
  };
}

// Phrases that must not occur, as Transformers' bad_words_ids: the last token of a phrase may not follow the others. A
// word at a place without a space before it may be tokenized differently; that form is forbidden where no word
// precedes.
//
//   forbidden "dog": spaced {▁dog}, unspaced {dog}
//   ▁the ▁dog    not this one
//   ▁( dog       nor this one
//   ▁bull dog    allowed: another word
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

// Ends an output for which Wanted::stops is true: only eos may follow, with score 0. The reported log p of eos remains
// the model's.
LogitsProcessor stop_at_text(std::int64_t eos) {
  return [eos](const OpenSentence& sentence, const Live& live, std::span<float> scores_V) {
    if (!sentence.wanted.stops || !sentence.wanted.stops(live.ids)) return;
    const bool may_end = std::isfinite(scores_V[eos]);
    std::ranges::fill(scores_V, kExcluded);
    if (may_end) scores_V[eos] = 0;
  };
}

}  // namespace

LogitsProcessors make_processors(const SearchConfig& config, const TargetIds& ids, std::span<const Wanted> wanted) {
  LogitsProcessors processors;
  if (config.repetition_penalty != 1) processors.push_back(penalise_repetition(config.repetition_penalty));
  if (config.no_repeat_ngram > 0) processors.push_back(forbid_repeated_ngrams(config.no_repeat_ngram));
  if (std::ranges::any_of(wanted, [](const Wanted& one) { return one.forbidden != nullptr; })) {
    processors.push_back(forbid_phrases());
  }
  if (std::ranges::any_of(wanted, [](const Wanted& one) { return one.stops != nullptr; })) {
    processors.push_back(stop_at_text(ids.eos));
  }
  if (config.sample > 0) add_truncations(config, ids, processors);
  if (std::ranges::all_of(wanted, [](const Wanted& one) { return one.prefix.empty(); })) return processors;
  return {force_prefix(std::move(processors))};
}

NextTokens::NextTokens(const torch::Tensor& logits_RV, std::int64_t per_row, bool whole,
                       const LogitsProcessors& processors, std::span<const OpenSentence> sentences) {
  whole = whole || !processors.empty();
  if (whole) {
    log_probs_RV_ = at::log_softmax(logits_RV, -1).cpu().contiguous();
    scores_RV_ = processors.empty() ? log_probs_RV_ : log_probs_RV_.clone();
    const std::int64_t size = scores_RV_.size(1);
    float* row = processors.empty() ? nullptr : scores_RV_.data_ptr<float>();
    for (const OpenSentence& sentence : sentences) {
      for (const Live& live : sentence.live) {
        for (const auto& processor : processors) {
          processor(sentence, live, {row, static_cast<std::size_t>(size)});
        }
        if (row != nullptr) row += size;
      }
    }
  }
  if (per_row == 0) return;
  const auto top = ops::top_log_probs(whole ? scores_RV_ : logits_RV, per_row);
  const std::int64_t num_rows = logits_RV.size(0);
  best_.reserve(num_rows * top.k);
  for (std::int64_t r = 0; r < num_rows; ++r) {
    for (std::int64_t j = r * top.k; j < (r + 1) * top.k; ++j) {
      const std::int64_t id = top.ids[j];
      const float log_prob = whole ? log_probs(r)[id] : top.values[j];
      const float score = whole ? scores(r)[id] : log_prob;
      if (std::isfinite(score)) best_.push_back({.id = id, .log_prob = log_prob, .score = score});
    }
    starts_.push_back(best_.size());
  }
}

}  // namespace attend
