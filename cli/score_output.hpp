// The output of attend score that its two uses share.
#pragma once

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "cli/score_command.hpp"
#include "core/progress.hpp"
#include "data/text/minimal_pairs.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "eval/forced_piece.hpp"
#include "eval/score_tally.hpp"

namespace attend {

// {"log_prob", "pieces", "words"}, and with `per_token` "tokens".
nlohmann::ordered_json score_json(std::span<const ForcedPiece> pieces, std::int64_t words, const Tokenizer& tokenizer,
                                  bool per_token);

// The log-probability, and with `per_token` each piece with its own, separated by tabs.
std::string score_text(std::span<const ForcedPiece> pieces, const Tokenizer& tokenizer, bool per_token);

// {"lines", "log_prob", "pieces", "words", "perplexity_piece", "perplexity_word"}; `kind`, "pseudo_" or nothing,
// precedes the name of a perplexity. The perplexity of no pieces or words is null.
nlohmann::ordered_json sums_json(const ScoreSums& sums, const std::string& kind = {});

// "60 lines, -4.000 nats per line; perplexity 2.718 of 240 pieces, 7.389 of 120 words"; with a `kind` such as
// "pseudo-".
std::string sums_text(const ScoreSums& sums, const std::string& kind = {});

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
