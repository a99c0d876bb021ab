// Every model scores every system's output and the reference. A model prefers its own output, however good it is, so
// the scores of the other models are more informative.
//
// If the reference ranks above a model's own output by the criterion that search maximises (log p / |y|^alpha), search
// did not find the best translation: a search error. If it does not and the output is the worse translation, the model
// is at fault (Stahlberg and Byrne 2019, arXiv 1908.10090, who find the likeliest of all translations, with alpha 0;
// the reference alone gives a lower bound on search errors). An output or reference that was cut at the maximum length
// lacks the probability of its end and is not compared; nor is a reference that is longer than search allows.
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

// Line by line.
struct TranslatedText {
  std::vector<std::string> source;
  std::vector<std::string> reference;
  std::vector<std::vector<Translation>> outputs;  // of each system, by search
};

// The scores of all translations by one model.
struct ModelScores {
  std::vector<std::vector<double>> outputs;  // log-probability of [system][line], in nats
  std::vector<TargetScore> reference;        // of each line
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
ModelScores score_translations(const Run& run, std::size_t own, const TranslatedText& text, const CrossScoring& config,
                               WorkProgress* progress = nullptr);

// The means over the lines whose source is not blank (a blank one is not searched), parallel to the systems; empty for
// a system without a model, missing if a line has probability 0.
CrossScores cross_scores(std::span<const std::optional<ModelScores>> models, std::span<const std::string> sources,
                         double length_penalty);

}  // namespace attend
