// What the probabilities of models are worth: of each other's output, and of single pieces.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "eval/score.hpp"
#include "eval/translate.hpp"
#include "models/run/run.hpp"

namespace attend {

// Calibration: of the pieces that a well calibrated model predicts with probability 0.7, 7 in 10 are those of the
// reference. Positions are binned by the probability of the likeliest piece (the confidence); the accuracy of a bin is
// the share of positions where that piece is the reference's. The expected calibration error is the mean of |accuracy -
// confidence| over positions (Guo et al. 2017, arXiv 1706.04599, eq. 3; for translation Müller et al. 2019, arXiv
// 1906.02629).
//
//   four positions, likeliest pieces of 0.95 (right), 0.92 (right), 0.55 (right), 0.55 (wrong)
//   bins {0.935, 1, 2} and {0.55, 0.5, 2}, error (2 * 0.065 + 2 * 0.05) / 4 = 0.0575

// Calibration over the reference under teacher forcing, ends of sentences included. The bins are (0, 0.1], (0.1, 0.2],
// … in this order, without empty ones. Positions whose log-probability is not finite are left out.
Calibration calibration(std::span<const TextScore> reference);

// The same of any choices.
struct Confidence {
  double probability = 0;  // of the choice
  bool right = false;
};
Calibration calibration(std::span<const Confidence> choices);

// Every model scores every system's output and the reference. A model prefers its own output, however good it is, so
// the scores of the other models are more informative.
//
// If the reference ranks above a model's own output by the criterion that search maximises (log p / |y|^alpha), search
// did not find the best translation: a search error. If it does not and the output is the worse translation, the model
// is at fault (Stahlberg and Byrne 2019, arXiv 1908.10090, who find the likeliest of all translations, with alpha 0;
// the reference alone gives a lower bound on search errors). An output or reference that was cut at the maximum length
// lacks the probability of its end and is not compared; nor is a reference that is longer than search allows.

// Line by line.
struct TranslatedText {
  std::vector<std::string> source;
  std::vector<std::string> reference;
  std::vector<std::vector<Translation>> outputs;  // of each system, by search
};

// The scores of all translations by one model.
struct ModelScores {
  std::vector<std::vector<double>> outputs;  // log-probability of [system][line], in nats
  std::vector<TextScore> reference;          // of each line
  SearchErrors search_errors = {};
};

struct CrossScoring {
  ScoreConfig scoring = {};
  // The one that gave the outputs; none: it ranks by more than log p / |y|^alpha, and its errors are not counted.
  std::optional<SearchConfig> search = SearchConfig();
};

// Scores by the model of system `own`. The outputs of others are read as text, in the pieces of this model's tokenizer,
// by forced decoding (eval/score.hpp). Its own output keeps the log-probability of the search: a text has several
// segmentations, and the one that search found may be far likelier than the tokenizer's. `progress` counts scored
// sentences. Interrupted after SIGINT or SIGTERM.
ModelScores score_translations(const TranslationRun& run, std::size_t own, const TranslatedText& text,
                               const CrossScoring& config, WorkProgress* progress = nullptr);

// The means over the lines whose source is not blank (a blank one is not searched), parallel to the systems; empty for
// a system without a model, missing if a line has probability 0.
CrossScores cross_scores(std::span<const std::optional<ModelScores>> models, std::span<const std::string> sources,
                         double length_penalty);

}  // namespace attend
