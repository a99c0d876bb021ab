// Every model scores every system's output and the reference. A model finds its own output likely, whoever is better:
// what another's model says of it is the more telling.
//
// Where a model finds the reference likelier than its own output, search did not find the likeliest translation: a
// search error. Where it does not and the output is the worse translation, the fault is the model's (Stahlberg and
// Byrne 2019, arXiv 1908.10090, who find the likeliest of all translations; a reference alone shows a lower bound of
// search errors).
#pragma once

#include <cstddef>
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

// What one model says of all translations.
struct ModelScores {
  std::vector<std::vector<double>> outputs;  // log-probability of [system][line], in nats
  std::vector<TargetScore> reference;        // of each line
  double search_errors = 0;                  // lines whose reference is likelier than its own output, in percent
};

// Scores by the model of system `own`. What others wrote is read as text, in the pieces of this model's tokenizer, by
// forced decoding (eval/score.hpp). Its own output has the log-probability that search gave it: some texts have several
// sequences of pieces, and search may have found another one than the tokenizer makes, which can be far less likely.
// Interrupted after SIGINT or SIGTERM.
ModelScores score_translations(const Run& run, std::size_t own, const TranslatedText& text, const ScoreConfig& config);

// The means, parallel to the systems. Missing where a line has no probability.
CrossScores cross_scores(std::span<const ModelScores> models);

}  // namespace attend
