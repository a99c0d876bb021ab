#include "cli/score.hpp"

#include <ATen/Parallel.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "core/text.hpp"

namespace attend {

using ScoreJson = nlohmann::ordered_json;

ScoreJson score_json(std::span<const ForcedPiece> pieces, std::int64_t words, const Tokenizer& tokenizer,
                     bool per_token) {
  ScoreJson object = {{"log_prob", log_prob_of(pieces)}, {"pieces", pieces.size()}, {"words", words}};
  if (!per_token) return object;
  object["tokens"] = ScoreJson::array();
  for (const ForcedPiece& piece : pieces) {
    object["tokens"].push_back({{"piece", tokenizer.piece(piece.id)}, {"log_prob", piece.log_prob}});
  }
  return object;
}

std::string score_text(std::span<const ForcedPiece> pieces, const Tokenizer& tokenizer, bool per_token) {
  std::string text = fmt::format("{:.6f}", log_prob_of(pieces));
  if (!per_token) return text;
  for (const ForcedPiece& piece : pieces) {
    text += fmt::format("\t{} {:.6f}", tokenizer.piece(piece.id), piece.log_prob);
  }
  return text;
}

ScoreJson sums_json(const ScoreTally& sums, const std::string& kind) {
  return {{"lines", sums.lines},
          {"log_prob", sums.log_prob},
          {"pieces", sums.pieces},
          {"words", sums.words},
          {kind + "perplexity_piece", sums.perplexity_by_piece()},
          {kind + "perplexity_word", sums.perplexity_by_word()}};
}

std::string sums_text(const ScoreTally& sums, const std::string& kind) {
  return fmt::format("{}, {:.3f} nats per line; {}perplexity {} of {}, {} of {}", counted(sums.lines, "line"),
                     sums.log_prob / static_cast<double>(sums.lines), kind, fixed(sums.perplexity_by_piece(), 3),
                     counted(sums.pieces, "piece"), fixed(sums.perplexity_by_word(), 3), counted(sums.words, "word"));
}

ScoreJson accuracy_json(const ContrastTally& tally) {
  const metrics::Interval interval = tally.interval();
  return {{"value", tally.accuracy()},
          {"low", interval.low},
          {"high", interval.high},
          {"correct", tally.correct},
          {"pairs", tally.pairs}};
}

std::string accuracy_text(const ContrastTally& tally) {
  const metrics::Interval interval = tally.interval();
  return fmt::format("{:.1f} % ({} of {}); 95 % interval {:.1f} to {:.1f}", 100 * tally.accuracy(), tally.correct,
                     counted(tally.pairs, "pair"), 100 * interval.low, 100 * interval.high);
}

void add_accuracies(ScoreJson& summary, const ContrastTable& table) {
  summary["accuracy"] = accuracy_json(table.all);
  for (const auto& [kind, tally] : table.kinds) summary["kinds"][kind] = accuracy_json(tally);
  for (const auto& [distance, tally] : table.distances) {
    summary["distances"][std::to_string(distance)] = accuracy_json(tally);
  }
}

void report_accuracies(const ContrastTable& table) {
  std::vector<std::pair<std::string, ContrastTally>> rows = {{"accuracy", table.all}};
  rows.insert(rows.end(), table.kinds.begin(), table.kinds.end());
  for (const auto& [distance, tally] : table.distances) rows.emplace_back(fmt::format("distance {}", distance), tally);
  std::size_t width = 0;
  for (const auto& [name, tally] : rows) width = std::max(width, name.size());
  for (const auto& [name, tally] : rows) log::info("{:<{}}  {}", name, width, accuracy_text(tally));
  log::info("the intervals hold if the pairs are independent");
}

// attend score: log-probabilities of given translations or texts, by the kind of run, and the accuracy of contrastive
// pairs.

namespace {

std::string_view model_of(RunKind kind, const std::string& run) {
  switch (kind) {
    case RunKind::train: return ScoreCommandConfig::kTranslation;
    case RunKind::language: return ScoreCommandConfig::kLanguage;
    case RunKind::pretrain: return ScoreCommandConfig::kBert;
    case RunKind::finetune: break;
  }
  throw UserError(run + ": a run of attend finetune, which gives texts labels, not probabilities",
                  "give the RUN directory of attend train or pretrain");
}

// Throws UserError unless a source and a target are given, or pairs that contain both.
void check_translations(const ScoreCommandConfig& config) {
  if (!config.contrast.empty() && config.source.empty() && config.target.empty()) return;
  for (const auto& [name, file] : {std::pair("source", config.source), std::pair("target", config.target)}) {
    if (!file.empty()) continue;
    throw UserError(
        std::string("attend score: --") + name + " is missing: " + config.run + " translates",
        "give the source text and its translations with --source and --target, or pairs of translations with "
        "--contrast");
  }
}

void run(const ScoreCommandConfig& config, const OptionOrigins& /*origins*/) {
  const RunKind kind = kind_of_run(config.run);
  signals::install();
  at::set_num_threads(static_cast<int>(config.score.threads));
  if (kind != RunKind::train) return score_texts(config);
  check_translations(config);
  score_translations(config);
}

}  // namespace

Facts ScoreCommandConfig::facts() const { return {{kModel, {std::string(model_of(kind_of_run(run), run))}}}; }

Command score_command() {
  return make_command<ScoreCommandConfig>("score", "compute the log-probability of translations or texts", run);
}

}  // namespace attend
