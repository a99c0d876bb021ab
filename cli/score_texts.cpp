// attend score for a language model or a BERT: log-probabilities of texts, and the accuracy of minimal pairs.
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/input.hpp"
#include "cli/score.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "data/text/lines.hpp"
#include "data/text/minimal_pairs.hpp"
#include "eval/encoder_output.hpp"
#include "eval/language_score.hpp"
#include "models/layers/layers.hpp"
#include "models/run/run.hpp"

namespace attend {
namespace {

using TextJson = nlohmann::ordered_json;

// A language model, or a BERT whose scores are pseudo-log-likelihoods.
class TextScorer {
 public:
  using Score = TextScore;
  using Tally = ScoreTally;

  explicit TextScorer(const ScoreCommandConfig& config) : config_(config) {
    AnyRun loaded = load_run(config.run, config.use);
    if (auto* language = std::get_if<LanguageRun>(&loaded)) {
      language_ = std::move(*language);
      if (config.window) choose_window(*config.window);
    } else {
      bert_ = std::get<BertRun>(std::move(loaded));
      bert_->check_fills_masks(config.run);
    }
  }

  std::vector<TextScore> score(std::span<const std::string> lines, WorkProgress& progress) const {
    return bert_ ? pseudo_log_likelihood(*bert_, lines, config_.within_word, config_.score, &progress)
                 : score_language(*language_, lines, config_.score, &progress);
  }

  std::vector<TextScore> score(std::span<const MinimalPair> pairs, WorkProgress& progress) const {
    return score(sentences_of(pairs), progress);
  }

  TextJson json_of(const TextScore& score) const {
    TextJson object = score_json(score.pieces, score.words, tokenizer(), config_.per_token);
    object["bytes"] = score.bytes;
    return object;
  }

  std::string text_of(const TextScore& score) const { return score_text(score.pieces, tokenizer(), config_.per_token); }

  TextJson json_of(const ScoreTally& tally) const {
    TextJson object = sums_json(tally, bert_ ? "pseudo_" : "");
    object["bytes"] = tally.bytes;
    object[bert_ ? "pseudo_bits_per_byte" : "bits_per_byte"] = tally.bits_per_byte();
    return object;
  }

  void report(const std::string& name, const ScoreTally& tally) const {
    const std::string kind = bert_ ? "pseudo-" : "";
    log::info("{}: {}; {} {}bits per byte", name, sums_text(tally, kind), fixed(tally.bits_per_byte(), 3), kind);
  }

  void report(const ScoreTally& better, const ScoreTally& worse) const {
    report("better", better);
    report("worse", worse);
  }

 private:
  void choose_window(std::int64_t tokens) {
    const std::string given = "--window: " + std::to_string(tokens) + ", but " + config_.run;
    if (!language_->window) {
      throw UserError(given + " is a run of a recurrent model, which reads texts of any length", "leave --window out");
    }
    const std::optional<std::int64_t> longest = language_->model->longest();
    if (longest && tokens > *longest) {
      throw UserError(given + " has a table of " + std::to_string(*longest) + " positions", "give at most as many");
    }
    language_->window = tokens;
  }

  const Tokenizer& tokenizer() const { return bert_ ? bert_->tokenizer : language_->tokenizer; }

  const ScoreCommandConfig& config_;
  std::optional<LanguageRun> language_;
  std::optional<BertRun> bert_;
};

void score_lines(const ScoreCommandConfig& config) {
  InputLines input(config.input, {});  // opened first, to report an unreadable file at once
  const TextScorer scorer(config);
  WorkProgress progress(work_on_lines({config.input}, {}));
  ScoreTally tally;
  std::vector<std::string> lines;
  for (; input.next_together([&](const std::string& line) { lines.push_back(line); }); lines.clear()) {
    const std::vector<TextScore> scores = scorer.score(lines, progress);
    progress.clear();
    for (const TextScore& score : scores) {
      tally.add(score);
      std::cout << (config.json ? scorer.json_of(score).dump() : scorer.text_of(score)) << '\n';
    }
  }
  if (tally.lines == 0) throw UserError(name_of_input(config.input) + ": empty", "check that it is the right file");
  input.log_counts();
  if (config.json) std::cout << TextJson{{"summary", scorer.json_of(tally)}}.dump() << '\n';
  scorer.report(name_of_input(config.input), tally);
}

}  // namespace

void score_texts(const ScoreCommandConfig& config) {
  if (config.contrast.empty()) return score_lines(config);
  const std::vector<MinimalPair> pairs = read_minimal_pairs(config.contrast, PairsOf::texts);
  score_pairs(config, pairs, TextScorer(config));
}

}  // namespace attend
