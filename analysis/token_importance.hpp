// What the output of a model depends on: the weights of attention to each token of its input, other measures of the
// token's importance, and how much the output changes with other weights (Jain and Wallace 2019, arXiv 1902.10186;
// Wiegreffe and Pinter 2019, 1908.04626). docs/faithfulness.md defines each number.
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/task/samples.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "eval/pair_attention.hpp"
#include "models/layers/pass.hpp"
#include "models/run/run.hpp"
#include "models/text/text_model.hpp"

namespace attend {

// The tokens that are read, without special ones, for one output: their weights in each explanation, and their
// importance.
struct TokenImportance {
  std::vector<std::vector<double>> explanations = {};  // parallel to the names of the explanations
  std::vector<double> gradient = {};                   // |gradient · input|
  std::vector<double> leave_one_out = {};              // total variation distance from the output without it
};

// The names of explanations by the heads of one layer: their mean and, if there are several heads, their maximum.
std::vector<std::string> names_over_heads(bool several);

// How much the class probabilities of one text change with other weights: total variation distances.
struct PerturbedText {
  double largest = 0;                     // weight, special tokens included, mean over heads
  double uniform = 0;                     // change
  double permuted = 0;                    // median change
  std::optional<double> divergence = {};  // of the adversarial weights, if they were sought
  std::optional<double> change = {};
};

// A fine-tuned classifier whose output depends on one query of attention: the learnt query of its pooling, or [CLS] in
// the last layer of a BERT.
class ExplainedClassifier {
 public:
  // Throws UserError naming `run` if its model has no such query. `model` must outlive this and be in eval mode.
  ExplainedClassifier(const TextModelImpl& model, const TextModelOptions& options, const SpecialIds& special,
                      const std::string& run);

  std::string attention() const;           // in words
  std::vector<std::string> names() const;  // of the explanations

  // The parameters of the model must require gradients. Interrupted after SIGINT or SIGTERM.
  TokenImportance importance(const Sample& text) const;

  // The texts are read together. The permutations of a text depend on its number and `seed` alone. If the parameters
  // of the model require gradients, the search for adversarial weights keeps all layers in memory. Interrupted as in
  // measure_faithfulness.
  std::vector<PerturbedText> perturb(std::span<const Sample* const> texts, std::uint64_t seed, bool adversarial) const;

 private:
  bool pools_by_attention() const { return place_ == AttentionPlace::cross; }
  torch::Tensor probabilities(const std::vector<Sample>& texts) const;

  const TextModelImpl& model_;
  SpecialIds special_;
  AttentionPlace place_ = AttentionPlace::encoder;
  std::int64_t layer_ = 0;
  std::int64_t heads_ = 1;
};

// For each target position of a pair, the end of sentence included. The tokens are the source pieces, without their
// end. The explanations are the last layer's attention to the source: its mean over heads and, if there are several,
// its maximum. The pair has source pieces. Time and memory grow with source × target pieces².
std::vector<TokenImportance> importance_of_source(const TranslationRun& run, const PiecePair& pair);

}  // namespace attend
