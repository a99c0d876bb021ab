#include "analysis/cross_scores.hpp"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>

namespace attend {
namespace {

std::vector<double> log_probs_of(const std::vector<TargetScore>& scores) {
  std::vector<double> log_probs;
  for (const TargetScore& score : scores) log_probs.push_back(score.log_prob());
  return log_probs;
}

double errors_of_search(const ModelScores& scores, std::size_t own, const TranslatedText& text) {
  std::int64_t errors = 0;
  for (std::size_t i = 0; i < scores.reference.size(); ++i) {
    const bool found_it = text.outputs[own][i].text == text.reference[i];
    errors += !found_it && scores.reference[i].log_prob() > scores.outputs[own][i];
  }
  return 100 * static_cast<double>(errors) / static_cast<double>(scores.reference.size());
}

std::optional<double> mean_of(const std::vector<double>& log_probs) {
  const double mean = std::accumulate(log_probs.begin(), log_probs.end(), 0.0) / static_cast<double>(log_probs.size());
  return std::isfinite(mean) ? std::optional(mean) : std::nullopt;
}

}  // namespace

ModelScores score_translations(const Run& run, std::size_t own, const TranslatedText& text, const ScoreConfig& config,
                               WorkProgress* progress) {
  ModelScores scores{.outputs = {}, .reference = score(run, text.source, text.reference, config, progress)};
  for (std::size_t s = 0; s < text.outputs.size(); ++s) {
    std::vector<std::string> output;
    std::vector<double> found;
    for (const Translation& translation : text.outputs[s]) {
      output.push_back(translation.text);
      found.push_back(translation.hypothesis.log_prob);
    }
    scores.outputs.push_back(s == own ? found : log_probs_of(score(run, text.source, output, config, progress)));
  }
  scores.search_errors = errors_of_search(scores, own, text);
  return scores;
}

CrossScores cross_scores(std::span<const ModelScores> models) {
  CrossScores scores;
  for (const ModelScores& model : models) {
    std::vector<std::optional<double>>& means = scores.log_prob.emplace_back();
    for (const std::vector<double>& output : model.outputs) means.push_back(mean_of(output));
    means.push_back(mean_of(log_probs_of(model.reference)));
    scores.search_errors.push_back(model.search_errors);
  }
  return scores;
}

}  // namespace attend
