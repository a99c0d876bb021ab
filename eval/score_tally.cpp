#include "eval/score_tally.hpp"

#include <cmath>

namespace attend {

void ScoreSums::add_line(std::span<const ForcedPiece> scored, std::int64_t words_of_line) {
  ++lines;
  pieces += std::ssize(scored);
  words += words_of_line;
  log_prob += log_prob_of(scored);
}

double ScoreSums::perplexity_by_piece() const { return std::exp(-log_prob / static_cast<double>(pieces)); }
double ScoreSums::perplexity_by_word() const { return std::exp(-log_prob / static_cast<double>(words)); }

bool ContrastTally::add(double log_prob, double contrast_log_prob) {
  const bool is_correct = log_prob > contrast_log_prob;
  ++pairs;
  correct += is_correct;
  return is_correct;
}

double ContrastTally::accuracy() const { return static_cast<double>(correct) / static_cast<double>(pairs); }

metrics::Interval ContrastTally::interval() const { return metrics::wilson(correct, pairs); }

bool ContrastTable::add(double log_prob, double contrast_log_prob, const std::string& kind,
                        const std::optional<std::int64_t>& distance) {
  if (!kind.empty()) kinds[kind].add(log_prob, contrast_log_prob);
  if (distance) distances[*distance].add(log_prob, contrast_log_prob);
  return all.add(log_prob, contrast_log_prob);
}

}  // namespace attend
