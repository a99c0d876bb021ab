// The measurements of `attend faithfulness`: whether the weights of attention explain what a model predicts (Jain and
// Wallace 2019, arXiv 1902.10186; Wiegreffe and Pinter 2019, 1908.04626). docs/faithfulness.md defines each number.
//
// Legend: docs/architecture.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/faithfulness_sections.hpp"
#include "data/task/samples.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "eval/pair_attention.hpp"
#include "models/layers/pass.hpp"
#include "models/run/model_options.hpp"
#include "models/run/run.hpp"
#include "models/text/text_model.hpp"

namespace attend {

struct FaithfulnessConfig {
  std::string run;
  std::string data;
  std::vector<std::string> test;
  std::int64_t sentences = 500;
  std::int64_t seed = 1;
  std::string checkpoint = "auto";
  std::string device = "auto";

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("run", self.run,
          {.help = "run of attend finetune that classifies texts by a BERT or with --pooling attention, or of attend "
                   "train with attention to the source",
           .placeholder = "DIR",
           .required = true,
           .positional = true});
    visit("data", self.data,
          {.help = "labelled texts, as attend evaluate reads them, of a fine-tuned run", .placeholder = "FILE"});
    visit("test", self.test,
          {.help = "source sentences and their translations, of a translation run", .placeholder = "FILE"});
    visit("sentences", self.sentences,
          {.help = "most texts or sentence pairs, from the beginning; adversarial weights are sought for the first 100",
           .min = 1,
           .max = 1e6});
    visit("seed", self.seed, {.help = "seed of the permutations and of the search for adversarial weights", .min = 0});
    ModelOptions::visit_checkpoint(self.checkpoint, visit);
    visit("device", self.device, {.help = "auto, cpu, cuda or cuda:N", .placeholder = "NAME"});
  }
};

// The tokens that are read, without special ones, for one output: their weights in each explanation, and their
// importance.
struct TokenImportance {
  std::vector<std::vector<double>> explanations = {};  // parallel to the names of the explanations
  std::vector<double> gradient = {};                   // |gradient · input|
  std::vector<double> leave_one_out = {};              // total variation distance from the output without it
};

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

  // The parameters of the model must require gradients. Interrupted as in measure_faithfulness.
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
// its maximum. The pair has source pieces, but no source factors. Time and memory grow with source × target pieces².
std::vector<TokenImportance> importance_of_source(const Run& run, const PiecePair& pair);

// `command` of the result is left empty. Throws UserError naming the option or file, among others for a run that
// predicts neither the class of a text nor a translation, or lacks the attention that would explain it. Interrupted
// after SIGINT or SIGTERM.
Faithfulness measure_faithfulness(const FaithfulnessConfig& config);

}  // namespace attend
