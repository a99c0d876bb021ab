// attend score: its options, its uses, and their output.
#pragma once

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/log.hpp"
#include "core/options.hpp"
#include "data/text/minimal_pairs.hpp"
#include "data/text/parallel.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "eval/forced_decoding.hpp"
#include "eval/score.hpp"
#include "models/run/run.hpp"

namespace attend {

// attend score: its options and its two uses, translations given their sources, and texts alone.

struct ScoreCommandConfig {
  std::string run;
  std::string source;
  std::string target;
  std::string input = "-";
  std::string contrast;
  bool within_word = false;
  std::optional<std::int64_t> window;
  FactorFiles factors;
  ModelOptions use;
  ScoreConfig score;
  bool per_token = false;
  bool json = false;

  // The fact that options depend on: the kind of model of the run.
  static constexpr Fact kModel{"runs of a"};
  static constexpr std::string_view kTranslation = "translation model", kLanguage = "language model", kBert = "BERT";
  static constexpr Condition kTranslations = {kModel, {kTranslation}};
  static constexpr Condition kTexts = {kModel, {kLanguage, kBert}};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit.group("Scoring");
    visit("run", self.run,
          {.help = "run of attend train or pretrain", .placeholder = "DIR", .required = true, .positional = true});
    visit("source", self.source,
          {.help = "source text, one sentence per line, plain or .gz; -: standard input; without it --contrast has "
                   "the sources and their translations",
           .file = FileUse::read,
           .only = kTranslations});
    visit("target", self.target,
          {.help = "translations of the source text, line by line", .file = FileUse::read, .only = kTranslations});
    visit("contrast", self.contrast,
          {.help = "minimal pairs; the accuracy is the fraction of pairs whose better text has the higher probability. "
                   "With --target: a file with a worse translation for each of its lines. Otherwise: lines with a "
                   "better and a worse sentence, for a translation model after their source; optionally after the kind "
                   "of the error, or its kind and distance; all separated by tabs",
           .file = FileUse::read});
    visit.group("Scoring", kTexts);
    visit("input", self.input,
          {.help = "one text per line, plain or .gz; -: standard input",
           .file = FileUse::read,
           .only = without("contrast")});
    visit.group("Scoring");
    visit("within-word", self.within_word,
          {.help = "with each piece, also mask the later pieces of its word, which would give it away",
           .only = {kModel, {kBert}}});
    visit("window", self.window,
          {.help = "window of a Transformer, in tokens, for texts that are longer; windows overlap by half; auto: the "
                   "size of its table of positions or, without one, the sum of --length and --memory of training",
           .min = 1,
           .max = 65535,
           .only = {kModel, {kLanguage}}});
    FactorFiles::visit(self.factors, visit, kTranslations);
    ModelOptions::visit(self.use, visit);
    ScoreConfig::visit(self.score, visit);
    visit.group("Output");
    visit("per-token", self.per_token, {.help = "also print the log-probability of every piece"});
    visit("json", self.json, {.help = "print one JSON object per line, and one with the sums at the end"});
  }

  // Reads the record of the run. UserError for a fine-tuned one.
  Facts facts() const;

  void validate(const OptionOrigins& origins) const {
    if (contrast.empty()) return;
    if (per_token && !json) throw UserError(origins("per-token") + " with --contrast needs --json", "add --json");
  }
};

void score_translations(const ScoreCommandConfig& config);

// By a run of attend pretrain: a language model, or a BERT.
void score_texts(const ScoreCommandConfig& config);

// The output of attend score that its two uses share.

// {"log_prob", "pieces", "words"}, and with `per_token` "tokens".
nlohmann::ordered_json score_json(std::span<const ForcedPiece> pieces, std::int64_t words, const Tokenizer& tokenizer,
                                  bool per_token);

// The log-probability, and with `per_token` each piece with its own, separated by tabs.
std::string score_text(std::span<const ForcedPiece> pieces, const Tokenizer& tokenizer, bool per_token);

// {"lines", "log_prob", "pieces", "words", "perplexity_piece", "perplexity_word"}; `kind`, "pseudo_" or nothing,
// precedes the name of a perplexity. The perplexity of no pieces or words is null.
nlohmann::ordered_json sums_json(const ScoreTally& sums, const std::string& kind = {});

// "60 lines, -4.000 nats per line; perplexity 2.718 of 240 pieces, 7.389 of 120 words"; with a `kind` such as
// "pseudo-".
std::string sums_text(const ScoreTally& sums, const std::string& kind = {});

// {"value", "low", "high", "correct", "pairs"}
nlohmann::ordered_json accuracy_json(const ContrastTally& tally);

// "96.0 % (48 of 50 pairs); 95 % interval 86.5 to 98.9"
std::string accuracy_text(const ContrastTally& tally);

// Adds "accuracy", and "kinds" and "distances" where pairs have them: the accuracy of each.
void add_accuracies(nlohmann::ordered_json& summary, const ContrastTable& table);

// Logs these accuracies, one per line.
void report_accuracies(const ContrastTable& table);

// Scores minimal pairs, prints their scores and finally the sums. A Scorer has types Score and Tally, and
//   std::vector<Score> score(std::span<const MinimalPair>, WorkProgress&)   of each pair the better, then the worse
//   ordered_json json_of(const Score&), json_of(const Tally&)
//   void report(const Tally& better, const Tally& worse)                    to standard error
template <class Scorer>
void score_pairs(const ScoreCommandConfig& config, const std::vector<MinimalPair>& pairs, const Scorer& scorer) {
  constexpr std::size_t kPairsInWindow = 1024;
  typename Scorer::Tally better_sums, worse_sums;
  ContrastTable table;
  WorkProgress progress({.unit = "sentences", .total = 2 * std::ssize(pairs)});
  for (std::size_t first = 0; first < pairs.size(); first += kPairsInWindow) {
    const std::span window = std::span(pairs).subspan(first, std::min(kPairsInWindow, pairs.size() - first));
    const std::vector<typename Scorer::Score> scores = scorer.score(window, progress);
    progress.clear();
    for (std::size_t i = 0; i < window.size(); ++i) {
      const MinimalPair& pair = window[i];
      const auto &better = scores[2 * i], &worse = scores[2 * i + 1];
      better_sums.add(better);
      worse_sums.add(worse);
      const bool is_correct = table.add(better.log_prob(), worse.log_prob(), pair.kind, pair.distance);
      if (!config.json) {
        std::cout << fmt::format("{:.6f}\t{:.6f}\t{}\n", better.log_prob(), worse.log_prob(),
                                 is_correct ? "right" : "wrong");
        continue;
      }
      nlohmann::ordered_json object = nlohmann::ordered_json::object();
      if (!pair.kind.empty()) object["kind"] = pair.kind;
      if (pair.distance) object["distance"] = *pair.distance;
      object["better"] = scorer.json_of(better);
      object["worse"] = scorer.json_of(worse);
      object["correct"] = is_correct;
      std::cout << object.dump() << '\n';
    }
  }
  if (config.json) {
    nlohmann::ordered_json summary = {{"better", scorer.json_of(better_sums)}, {"worse", scorer.json_of(worse_sums)}};
    add_accuracies(summary, table);
    std::cout << nlohmann::ordered_json{{"summary", summary}}.dump() << '\n';
  }
  scorer.report(better_sums, worse_sums);
  report_accuracies(table);
}

}  // namespace attend
