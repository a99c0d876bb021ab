// The cost of a compared run: operations, size, training, and the time that it takes to translate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/comparison.hpp"
#include "analysis/trained_run.hpp"
#include "eval/score.hpp"
#include "eval/translate.hpp"
#include "models/run/run.hpp"

namespace attend {

// Floating-point operations of a forward pass, counted from the parameters of a translation model: a matrix of n
// numbers costs 2 n (a product and a sum) at every position where it is applied. Attention itself has no parameters and
// is counted from its widths; local scopes count as global ones, and linear attention as if it formed its weights.
// Norms, gates, softmax, coverage and embeddings, which are looked up, are not counted.

// Operations per target piece, for sentences of S source and T target pieces, both with the end of the sentence.
double flops_per_target_piece(const TranslationRun& run, double S, double T);
// Operations per text of T tokens.
double flops_per_text(const TextRun& run, double T);

// A system's translations of the test set; of a system without a model, only these.
struct SystemOutputs {
  std::vector<Translation> translations;
  double seconds = 0;       // taken to translate
  std::int64_t pieces = 0;  // of the translations, with the ends of sentences
  ScoreTally references = {};
  std::int64_t unknown_pieces = 0;  // of the references, not in the vocabulary

  std::vector<std::string> texts() const;
};

// Translates the sources, and scores the references by forced decoding. Interrupted after SIGINT or SIGTERM.
SystemOutputs translate_test_set(const TrainedRun& trained, const std::vector<std::string>& sources,
                                 const std::vector<std::string>& references, const TranslatorConfig& translator,
                                 const ScoreConfig& scoring);

// Adds the operations of a forward pass and the times of translation. Translates the first sentences of each length
// once more, one at a time.
void add_cost_of_translation(Cost& cost, const TrainedRun& trained, const SystemOutputs& outputs,
                             const std::vector<std::string>& sources, const TranslatorConfig& translator);

}  // namespace attend
