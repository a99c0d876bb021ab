#include "eval/search/truncation.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>

namespace attend {
namespace {

constexpr float kExcluded = -std::numeric_limits<float>::infinity();

// log sum exp of the scores: subtracted from them, it gives log p.
double log_normaliser(const std::vector<float>& scores) {
  const double highest = *std::ranges::max_element(scores);
  double sum = 0;
  for (const float score : scores) sum += std::exp(score - highest);
  return highest + std::log(sum);
}

}  // namespace

void NeverProduced::apply(const OpenSentence& /*sentence*/, const Live& live, std::span<float> scores_V) const {
  for (const std::int64_t id : {ids_.pad, ids_.bos, ids_.eos, ids_.marks[0], ids_.marks[1], ids_.marks[2]}) {
    if (id >= 0 && !ids_.may_follow(id, std::ssize(live.ids), min_length_)) scores_V[id] = kExcluded;
  }
}

void Temperature::apply(const OpenSentence& /*sentence*/, const Live& /*live*/, std::span<float> scores_V) const {
  for (float& score : scores_V) score = static_cast<float>(score / temperature_);
}

void Truncation::apply(const OpenSentence& /*sentence*/, const Live& /*live*/, std::span<float> scores_V) const {
  std::vector<float> finite;
  finite.reserve(scores_V.size());
  std::ranges::copy_if(scores_V, std::back_inserter(finite), [](float score) { return std::isfinite(score); });
  if (finite.empty()) return;
  const double lowest = threshold(finite);
  for (float& score : scores_V) {
    if (score < lowest) score = kExcluded;
  }
}

double TopK::threshold(std::vector<float>& scores) const {
  if (k_ >= std::ssize(scores)) return kExcluded;
  const auto last = scores.begin() + (k_ - 1);
  std::nth_element(scores.begin(), last, scores.end(), std::greater());
  return *last;
}

// Sorts only the beginning, longer and longer: mostly, a few tokens have nearly all of the probability.
double TopP::threshold(std::vector<float>& scores) const {
  const double normaliser = log_normaliser(scores);
  double mass = 0;
  auto begin = scores.begin();
  for (std::ptrdiff_t size = 64; begin != scores.end(); size *= 4) {
    const auto end = begin + std::min<std::ptrdiff_t>(size, scores.end() - begin);
    if (end != scores.end()) std::nth_element(begin, end, scores.end(), std::greater());
    std::sort(begin, end, std::greater());
    for (; begin != end; ++begin) {
      mass += std::exp(*begin - normaliser);
      if (mass >= p_) return *begin;
    }
  }
  return kExcluded;  // p is within a rounding of 1
}

double MinP::threshold(std::vector<float>& scores) const {
  return *std::ranges::max_element(scores) + std::log(share_);
}

double Epsilon::threshold(std::vector<float>& scores) const {
  const double highest = *std::ranges::max_element(scores);
  return std::min(highest, log_normaliser(scores) + std::log(epsilon_));
}

}  // namespace attend
