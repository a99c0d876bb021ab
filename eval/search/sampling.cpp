#include "eval/search/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/random.hpp"

namespace attend {

void Sampling::advance(OpenSentence& sentence, const NextTokens& next, std::int64_t first_row) const {
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

}  // namespace attend
