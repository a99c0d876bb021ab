#include "eval/search/truncation.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

namespace attend {
namespace {

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

}  // namespace

LogitsProcessor drop_unproduced(const TargetIds& ids, std::int64_t min_length) {
  return [ids, min_length](const OpenSentence&, const Live& live, std::span<float> scores_V) {
    for (const std::int64_t id : {ids.pad, ids.bos, ids.eos, ids.marks[0], ids.marks[1], ids.marks[2]}) {
      if (id >= 0 && !ids.may_follow(id, std::ssize(live.ids), min_length)) scores_V[id] = kExcluded;
    }
  };
}

LogitsProcessor divide_by_temperature(double temperature) {
  return [temperature](const OpenSentence&, const Live&, std::span<float> scores_V) {
    for (float& score : scores_V) score = static_cast<float>(score / temperature);
  };
}

LogitsProcessor keep_top_k(std::int64_t k) {
  return truncation([k](std::vector<float>& scores) -> double {
    if (k >= std::ssize(scores)) return kExcluded;
    const auto last = scores.begin() + (k - 1);
    std::nth_element(scores.begin(), last, scores.end(), std::greater());
    return *last;
  });
}

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

LogitsProcessor keep_min_p(double share) {
  return truncation(
      [share](std::vector<float>& scores) { return *std::ranges::max_element(scores) + std::log(share); });
}

LogitsProcessor keep_epsilon(double epsilon) {
  return truncation([epsilon](std::vector<float>& scores) {
    const double highest = *std::ranges::max_element(scores);
    return std::min(highest, log_normaliser(scores) + std::log(epsilon));
  });
}

}  // namespace attend
