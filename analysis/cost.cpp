#include "analysis/cost.hpp"

#include <chrono>
#include <ranges>

#include "analysis/breakdowns.hpp"
#include "analysis/flops.hpp"
#include "core/progress.hpp"
#include "models/layers/weights_io.hpp"

namespace attend {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The time to translate one sentence alone, by the words of its source: the mean over the first sentences of each
// length.
std::vector<LengthTime> times_by_length(const TrainedRun& trained, const std::vector<std::string>& sources,
                                        const TranslatorConfig& config) {
  constexpr std::size_t kSentences = 12;
  TranslatorConfig alone = config;
  alone.batch_size = 1;
  alone.workers = 1;
  Translator translator(*trained.run.model, trained.run.tokenizers, alone);
  std::vector<LengthTime> times;
  for (const LengthGroup& group : length_groups(sources)) {
    std::vector<std::string> lines;
    for (const std::size_t i : group.sentences | std::views::take(kSentences)) lines.push_back(sources[i]);
    const auto start = std::chrono::steady_clock::now();
    translator.translate(lines);
    times.push_back(
        {.length = group.name, .milliseconds = 1e3 * seconds_since(start) / static_cast<double>(lines.size())});
  }
  return times;
}

}  // namespace

std::vector<std::string> SystemOutputs::texts() const {
  std::vector<std::string> lines;
  for (const Translation& translation : translations) lines.push_back(translation.text);
  return lines;
}

SystemOutputs translate_test_set(const TrainedRun& trained, const std::vector<std::string>& sources,
                                 const std::vector<std::string>& references, const TranslatorConfig& config,
                                 const ScoreConfig& scoring) {
  SystemOutputs outputs;
  WorkProgress progress({.unit = "sentences", .total = std::ssize(sources)});
  Translator translator(*trained.run.model, trained.run.tokenizers, config, &progress);
  const auto start = std::chrono::steady_clock::now();
  auto translations = translator.translate(sources);
  outputs.seconds = seconds_since(start);
  progress.clear();
  for (std::vector<Translation>& best : translations) {
    outputs.pieces += std::ssize(best.front().hypothesis.ids) + 1;
    outputs.translations.push_back(std::move(best.front()));
  }
  const std::int32_t unknown = trained.run.tokenizers.tgt.special().unk;
  for (const TargetScore& one : score(trained.run, sources, references, scoring)) {
    outputs.references.add(one);
    for (const ForcedPiece& piece : one.pieces) outputs.unknown_pieces += piece.id == unknown;
  }
  return outputs;
}

Cost cost_of(const TrainedRun& trained, const SystemOutputs& outputs, const std::vector<std::string>& sources,
             const TranslatorConfig& config) {
  const auto sentences = static_cast<double>(sources.size());
  const auto target_pieces = static_cast<double>(outputs.references.pieces);
  double source_pieces = 0;
  for (const std::string& line : sources) {
    source_pieces += static_cast<double>(trained.run.tokenizers.src.encode(line).size()) + 1;
  }
  const double flops = flops_per_target_piece(trained.run, source_pieces / sentences, target_pieces / sentences);
  Cost cost = trained.cost;
  cost.parameters = count_parameters(*trained.run.model);
  cost.flops_per_token = flops;
  cost.flops_per_sentence = flops * target_pieces / sentences;
  cost.translation_tokens_per_second = static_cast<double>(outputs.pieces) / outputs.seconds;
  cost.translation_sentences_per_second = sentences / outputs.seconds;
  cost.by_length = times_by_length(trained, sources, config);
  return cost;
}

}  // namespace attend
