// attend score for a language model or a BERT: log-probabilities of texts, and the accuracy of minimal pairs.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/input.hpp"
#include "cli/score_command.hpp"
#include "cli/score_output.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/progress.hpp"
#include "data/text/lines.hpp"
#include "data/text/minimal_pairs.hpp"
#include "eval/language_score.hpp"
#include "eval/pseudo_log_likelihood.hpp"
#include "models/layers/layers.hpp"
#include "models/run/bert_run.hpp"
#include "models/run/device.hpp"
#include "models/run/language_run.hpp"

namespace attend {
namespace {

using TextJson = nlohmann::ordered_json;

// A language model, or a BERT whose scores are pseudo-log-likelihoods.
class TextScorer {
 public:
  TextScorer(const ScoreCommandConfig& config, RunKind kind) : config_(config) {
    const torch::Device device = device_named(config.use.device);
    if (kind == RunKind::language) {
      language_ = LanguageRun::load(config.run, config.use.checkpoint, device);
      freeze(*language_->model, config.use.precision);
    } else {
      bert_ = BertRun::load(config.run, config.use.checkpoint, device);
      bert_->check_fills_masks(config.run);
      freeze(*bert_->model, config.use.precision);
    }
  }

  std::vector<LanguageScore> score(std::span<const std::string> lines, WorkProgress& progress) const {
    return bert_ ? pseudo_log_likelihood(*bert_, lines, config_.within_word, config_.score, &progress)
                 : score_language(*language_, lines, config_.score, &progress);
  }

  TextJson json_of(const LanguageScore& score) const {
    TextJson object = score_json(score.pieces, score.words, tokenizer(), config_.per_token);
    object["bytes"] = score.bytes;
    return object;
  }

  std::string text_of(const LanguageScore& score) const {
    return score_text(score.pieces, tokenizer(), config_.per_token);
  }

  TextJson json_of(const LanguageTally& tally) const {
    TextJson object = sums_json(tally, bert_ ? "pseudo_" : "");
    object["bytes"] = tally.bytes;
    object[bert_ ? "pseudo_bits_per_byte" : "bits_per_byte"] = tally.bits_per_byte();
    return object;
  }

  void report(const std::string& name, const LanguageTally& tally) const {
    log::info("{0}: {1}; {3:.3f} {2}bits per byte", name, sums_text(tally, bert_ ? "pseudo-" : ""),
              bert_ ? "pseudo-" : "", tally.bits_per_byte());
  }

 private:
  const Tokenizer& tokenizer() const { return bert_ ? bert_->tokenizer : language_->tokenizer; }

  const ScoreCommandConfig& config_;
  std::optional<LanguageRun> language_;
  std::optional<BertRun> bert_;
};

void score_lines(const ScoreCommandConfig& config, RunKind kind) {
  LineReader reader(config.input);  // opened first: a file that cannot be read is said at once
  const TextScorer scorer(config, kind);
  const bool at_once = LineOptions{}.at_once(config.input);
  WorkProgress progress(work_on_lines({config.input}, {}));
  LanguageTally tally;
  std::vector<std::string> lines;
  for (; read_together(reader, at_once, [&](const std::string& line) { lines.push_back(line); }); lines.clear()) {
    const std::vector<LanguageScore> scores = scorer.score(lines, progress);
    progress.clear();
    for (const LanguageScore& score : scores) {
      tally.add(score);
      std::cout << (config.json ? scorer.json_of(score).dump() : scorer.text_of(score)) << '\n';
    }
    if (at_once) std::cout.flush();
  }
  if (tally.lines == 0) throw UserError(name_of_input(config.input) + ": empty", "check that it is the right file");
  reader.counts().log(config.input);
  if (config.json) std::cout << TextJson{{"summary", scorer.json_of(tally)}}.dump() << '\n';
  scorer.report(name_of_input(config.input), tally);
}

// The scores of a window of pairs, printed as they come, and their sums.
class PairPrinter {
 public:
  PairPrinter(const ScoreCommandConfig& config, const TextScorer& scorer) : config_(config), scorer_(scorer) {}

  void print(const MinimalPair& pair, const LanguageScore& better, const LanguageScore& worse) {
    better_.add(better);
    worse_.add(worse);
    const bool is_correct = table_.add(better.log_prob(), worse.log_prob(), pair.kind, pair.distance);
    if (!config_.json) {
      std::cout << fmt::format("{:.6f}\t{:.6f}\t{}\n", better.log_prob(), worse.log_prob(),
                               is_correct ? "right" : "wrong");
      return;
    }
    TextJson object = TextJson::object();
    if (!pair.kind.empty()) object["kind"] = pair.kind;
    if (pair.distance) object["distance"] = *pair.distance;
    object["better"] = scorer_.json_of(better);
    object["worse"] = scorer_.json_of(worse);
    object["correct"] = is_correct;
    std::cout << object.dump() << '\n';
  }

  void finish() const {
    if (config_.json) {
      TextJson summary = {{"better", scorer_.json_of(better_)},
                          {"worse", scorer_.json_of(worse_)},
                          {"accuracy", accuracy_json(table_.all)}};
      for (const auto& [kind, tally] : table_.kinds) summary["kinds"][kind] = accuracy_json(tally);
      for (const auto& [distance, tally] : table_.distances) {
        summary["distances"][std::to_string(distance)] = accuracy_json(tally);
      }
      std::cout << TextJson{{"summary", summary}}.dump() << '\n';
    }
    scorer_.report("better", better_);
    scorer_.report("worse", worse_);
    std::vector<std::pair<std::string, ContrastTally>> rows = {{"accuracy", table_.all}};
    rows.insert(rows.end(), table_.kinds.begin(), table_.kinds.end());
    for (const auto& [distance, tally] : table_.distances) {
      rows.emplace_back(fmt::format("distance {}", distance), tally);
    }
    std::size_t width = 0;
    for (const auto& [name, tally] : rows) width = std::max(width, name.size());
    for (const auto& [name, tally] : rows) log::info("{:<{}}  {}", name, width, accuracy_text(tally));
    log::info("the intervals hold if the pairs are independent");
  }

 private:
  const ScoreCommandConfig& config_;
  const TextScorer& scorer_;
  LanguageTally better_, worse_;
  ContrastTable table_;
};

void score_pairs(const ScoreCommandConfig& config, RunKind kind) {
  constexpr std::size_t kPairsInWindow = 1024;
  const std::vector<MinimalPair> pairs = read_minimal_pairs(config.contrast);
  const TextScorer scorer(config, kind);
  PairPrinter printer(config, scorer);
  WorkProgress progress({.unit = "sentences", .total = 2 * std::ssize(pairs), .is_shown = !log::is_quiet()});
  for (std::size_t first = 0; first < pairs.size(); first += kPairsInWindow) {
    const std::span window = std::span(pairs).subspan(first, std::min(kPairsInWindow, pairs.size() - first));
    std::vector<std::string> sentences;
    for (const MinimalPair& pair : window) sentences.insert(sentences.end(), {pair.better, pair.worse});
    const std::vector<LanguageScore> scores = scorer.score(sentences, progress);
    progress.clear();
    for (std::size_t i = 0; i < window.size(); ++i) printer.print(window[i], scores[2 * i], scores[2 * i + 1]);
  }
  printer.finish();
}

}  // namespace

void score_texts(const ScoreCommandConfig& config, RunKind kind) {
  config.contrast.empty() ? score_lines(config, kind) : score_pairs(config, kind);
}

}  // namespace attend
