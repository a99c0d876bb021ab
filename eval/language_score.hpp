// The probability of texts under a language model. A text is read after the end token of the one before it, and ends
// with one:
//
//   log p(x) = Σ_t log p(x_t | </s> x_1 … x_{t-1}),  x_{n+1} = </s>
//
//   x = "a dog"     ▁a -1.20   ▁dog -4.31   </s> -2.05     log p(x) = -7.56
//
// A model that reads at most L tokens reads a longer line in overlapping windows of L tokens. Each starts L / 2 tokens
// before the first that it predicts from, so that every piece is predicted from at least L / 2 + 1 tokens, or from all
// before it. Nothing is cut; for lines of at most L tokens, and models without a limit, the sum is exact.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/progress.hpp"
#include "eval/forced_piece.hpp"
#include "eval/score.hpp"
#include "eval/score_tally.hpp"
#include "models/run/language_run.hpp"

namespace attend {

// The score of a line. A language model also predicts its end, which counts as a piece, a word and a byte; a BERT
// (pseudo_log_likelihood.hpp) does not.
struct LanguageScore {
  std::vector<ForcedPiece> pieces = {};
  std::int64_t words = 0;  // separated by white space
  std::int64_t bytes = 0;  // of UTF-8

  double log_prob() const { return log_prob_of(pieces); }
};

// What one forward pass reads of a text: its tokens begin … end - 1, of which those from `scored` predict.
struct ScoredWindow {
  std::int64_t begin = 0, scored = 0, end = 0;

  std::int64_t length() const { return end - begin; }
  bool operator==(const ScoredWindow&) const = default;
};

// The windows of a text of `tokens` tokens, the first end token included; every token predicts in exactly one.
std::vector<ScoredWindow> scored_windows(std::int64_t tokens, std::optional<std::int64_t> longest);

// The score of every line, in order. An empty line is </s> alone. The sums depend on batches only by rounding.
// `progress` counts lines. Interrupted after SIGINT or SIGTERM.
std::vector<LanguageScore> score_language(const LanguageRun& run, std::span<const std::string> lines,
                                          const ScoreConfig& config, WorkProgress* progress = nullptr);

// Sums over a text.
struct LanguageTally : ScoreSums {
  std::int64_t bytes = 0;  // with the ends of lines, where they are predicted

  void add(const LanguageScore& score);
  double bits_per_byte() const;  // -log p / (ln 2 · bytes); NaN without bytes
};

}  // namespace attend
