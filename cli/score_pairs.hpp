// Minimal pairs of attend score: the scores of each, and the accuracy of all, by kind and by distance. Texts and
// translations have one output; their scorer says what is scored.
#pragma once

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "cli/score_command.hpp"
#include "cli/score_output.hpp"
#include "core/progress.hpp"
#include "data/text/minimal_pairs.hpp"
#include "eval/score_tally.hpp"

namespace attend {

// Scores pairs, prints them as they come, and finally their sums. A Scorer has, with its types Score and Tally:
//   std::vector<Score> score(std::span<const MinimalPair>, WorkProgress&)   of each pair the better and the worse one
//   ordered_json json_of(const Score&), json_of(const Tally&)
//   void report(const Tally& better, const Tally& worse)                    to standard error
template <class Scorer>
void score_pairs(const ScoreCommandConfig& config, const std::vector<MinimalPair>& pairs, const Scorer& scorer) {
  using PairJson = nlohmann::ordered_json;
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
      PairJson object = PairJson::object();
      if (!pair.kind.empty()) object["kind"] = pair.kind;
      if (pair.distance) object["distance"] = *pair.distance;
      object["better"] = scorer.json_of(better);
      object["worse"] = scorer.json_of(worse);
      object["correct"] = is_correct;
      std::cout << object.dump() << '\n';
    }
  }
  if (config.json) {
    PairJson summary = {{"better", scorer.json_of(better_sums)}, {"worse", scorer.json_of(worse_sums)}};
    add_accuracies(summary, table);
    std::cout << PairJson{{"summary", summary}}.dump() << '\n';
  }
  scorer.report(better_sums, worse_sums);
  report_accuracies(table);
}

}  // namespace attend
