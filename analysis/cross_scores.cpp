#include "analysis/cross_scores.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "data/text/lines.hpp"

namespace attend {

Calibration calibration(std::span<const TextScore> reference) {
  std::vector<Confidence> choices;
  for (const TextScore& sentence : reference) {
    for (const ForcedPiece& piece : sentence.pieces) {
      if (std::isfinite(piece.best_log_prob)) choices.push_back({std::exp(piece.best_log_prob), piece.is_best});
    }
  }
  return calibration(choices);
}

Calibration calibration(std::span<const Confidence> choices) {
  constexpr std::int64_t kBins = 10;
  std::array<CalibrationBin, kBins> sums;
  const std::int64_t total = std::ssize(choices);
  for (const auto& [probability, right] : choices) {
    const auto upper = static_cast<std::int64_t>(std::ceil(probability * kBins));
    CalibrationBin& bin = sums[std::clamp<std::int64_t>(upper, 1, kBins) - 1];
    bin.confidence += probability;
    bin.accuracy += right ? 1 : 0;
    ++bin.count;
  }
  Calibration result;
  for (CalibrationBin bin : sums) {
    if (bin.count == 0) continue;
    const auto count = static_cast<double>(bin.count);
    bin.confidence /= count;
    bin.accuracy /= count;
    result.expected_error += std::abs(bin.accuracy - bin.confidence) * count / static_cast<double>(total);
    result.bins.push_back(bin);
  }
  return result;
}

namespace {

std::vector<double> log_probs_of(const std::vector<TextScore>& scores) {
  std::vector<double> log_probs;
  for (const TextScore& score : scores) log_probs.push_back(score.log_prob());
  return log_probs;
}

SearchErrors errors_of_search(const TranslationRun& run, const ModelScores& scores, std::size_t own,
                              const TranslatedText& text, const SearchConfig& search) {
  std::int64_t compared = 0, ranked = 0, likelier = 0;
  for (std::size_t i = 0; i < scores.reference.size(); ++i) {
    const Translation& output = text.outputs[own][i];
    const TextScore& reference = scores.reference[i];
    const std::size_t source =
        std::min(run.tokenizers.src.encode(text.source[i]).size(), most_source_pieces(*run.model));
    const std::int64_t longest = search.longest(source + 1);
    const bool is_allowed = !reference.target_is_cut && std::ssize(reference.pieces) <= longest;
    if (!output.hypothesis.ended || !is_allowed) continue;
    ++compared;
    if (output.text == text.reference[i]) continue;
    const double length = static_cast<double>(reference.pieces.size());
    ranked += reference.log_prob() / search.length_norm(length) > output.hypothesis.score;
    likelier += reference.log_prob() > output.hypothesis.log_prob;
  }
  if (compared == 0) return {};
  const auto percent = [&](std::int64_t count) {
    return 100 * static_cast<double>(count) / static_cast<double>(compared);
  };
  return {.compared = compared, .ranked = percent(ranked), .likelier = percent(likelier)};
}

std::optional<double> mean_of(const std::vector<double>& log_probs, std::span<const std::string> sources) {
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < log_probs.size(); ++i) {
    if (is_blank(sources[i])) continue;
    sum += log_probs[i];
    ++count;
  }
  const double mean = sum / count;
  return std::isfinite(mean) ? std::optional(mean) : std::nullopt;
}

}  // namespace

ModelScores score_translations(const TranslationRun& run, std::size_t own, const TranslatedText& text,
                               const CrossScoring& config, WorkProgress* progress) {
  ModelScores scores{.outputs = {}, .reference = score(run, text.source, text.reference, config.scoring, progress)};
  for (std::size_t s = 0; s < text.outputs.size(); ++s) {
    std::vector<std::string> output;
    std::vector<double> found;
    for (const Translation& translation : text.outputs[s]) {
      output.push_back(translation.text);
      found.push_back(translation.hypothesis.log_prob);
    }
    scores.outputs.push_back(s == own ? found
                                      : log_probs_of(score(run, text.source, output, config.scoring, progress)));
  }
  if (config.search) scores.search_errors = errors_of_search(run, scores, own, text, *config.search);
  return scores;
}

CrossScores cross_scores(std::span<const std::optional<ModelScores>> models, std::span<const std::string> sources,
                         double length_penalty) {
  CrossScores scores{.log_prob = {}, .length_penalty = length_penalty};
  for (const std::optional<ModelScores>& model : models) {
    std::vector<std::optional<double>>& means = scores.log_prob.emplace_back();
    SearchErrors& errors = scores.search_errors.emplace_back();
    if (!model) continue;
    for (const std::vector<double>& output : model->outputs) means.push_back(mean_of(output, sources));
    means.push_back(mean_of(log_probs_of(model->reference), sources));
    errors = model->search_errors;
  }
  return scores;
}

}  // namespace attend
