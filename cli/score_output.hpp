// The output of attend score that its two uses share.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "data/tokenizer/tokenizer.hpp"
#include "eval/forced_piece.hpp"
#include "eval/score_tally.hpp"

namespace attend {

// {"log_prob", "pieces", "words"}, and with `per_token` "tokens".
nlohmann::ordered_json score_json(std::span<const ForcedPiece> pieces, std::int64_t words, const Tokenizer& tokenizer,
                                  bool per_token);

// The log-probability, and with `per_token` each piece and its own after a tab.
std::string score_text(std::span<const ForcedPiece> pieces, const Tokenizer& tokenizer, bool per_token);

// {"lines", "log_prob", "pieces", "words", "perplexity_piece", "perplexity_word"}; `kind` precedes the name of a
// perplexity: "pseudo_" or nothing. A perplexity of nothing is null.
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

// Logs the same, line by line.
void report_accuracies(const ContrastTable& table);

}  // namespace attend
