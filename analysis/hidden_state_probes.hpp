// The measurements of `attend probe`.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/probe_sections.hpp"
#include "analysis/sentence_model.hpp"
#include "data/text/conll.hpp"
#include "eval/pair_attention.hpp"
#include "models/run/device.hpp"

namespace attend {

// The hidden states of a model by word: the vector of a word in a layer is the mean of those of its pieces.
//
//   text     a do|g sees             pieces ▁a ▁do g ▁sees
//   words    a  dog  sees            h(dog) = (h(▁do) + h(g)) / 2
//
// Layer 0 is the embedded input, layer l the output of the l-th layer (Observer::on_hidden).
//
// Legend: docs/architecture.md; W words of all sentences, H the width of a layer.

// The sentences that a model reads, and the hidden states of their words.
class ProbedWords {
 public:
  // Leaves out sentences that are longer than the model reads, and those with a word without a piece.
  ProbedWords(const SentenceModel& model, std::vector<TreeSentence> sentences);

  const std::vector<TreeSentence>& sentences() const { return sentences_; }
  std::int64_t num_left_out() const { return num_left_out_; }
  // The row of each sentence's first word, and the number of all words.
  const std::vector<std::int64_t>& offsets() const { return offsets_; }
  std::int64_t num_words() const { return offsets_.back(); }

  // H of the embedded input and of all layers, from a pass over one sentence.
  std::vector<std::int64_t> widths(const SentenceModel& model) const;

  // [W, H] of `count` layers from `first`, fp32, on the CPU; one pass over the sentences. `model` is the one given to
  // the constructor, perhaps with other weights. Interrupted after SIGINT or SIGTERM.
  std::vector<torch::Tensor> vectors(const SentenceModel& model, std::int64_t first, std::int64_t count) const;

 private:
  std::vector<TreeSentence> sentences_;
  std::vector<std::vector<std::int32_t>> ids_;  // of each sentence, with the pieces around it
  std::vector<PiecesOfWords> pieces_;           // of each sentence: positions in its ids
  std::vector<std::int64_t> offsets_ = {0};
  std::int64_t num_left_out_ = 0;
};

// The measurements of `attend probe`: linear and structural probes of every layer of a model, and of the same model
// with the random weights of each seed. docs/probes.md defines each number.

struct ProbingConfig {
  std::string run;
  std::string data;
  std::int64_t sentences = 2000;
  std::int64_t seeds = 3;
  ModelOptions use = {.precision = Precision::fp32};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("run", self.run,
          {.help = "run of attend train, pretrain or finetune",
           .placeholder = "DIR",
           .required = true,
           .positional = true});
    visit("data", self.data,
          {.help = "sentences with trees in CoNLL-U, in the language that the model reads",
           .file = FileUse::read,
           .required = true});
    visit("sentences", self.sentences,
          {.help = "maximum number of sentences, from the beginning of --data; the first 80 % train the probes, the "
                   "last 20 % test them",
           .min = 10,
           .max = 1e6});
    visit("seeds", self.seeds,
          {.help = "number of trainings of each probe, and of models with random weights; the report has means and "
                   "standard deviations",
           .min = 1,
           .max = 100});
    ModelOptions::visit(self.use, visit);
  }
};

// `command` of the result is left empty. Throws UserError naming the option or file, among others if the model reads
// fewer than 10 of the sentences. Interrupted after SIGINT or SIGTERM.
Probing probe_hidden_states(const ProbingConfig& config);
// The same for `model` in place of that of `run`; `checkpoint` is left empty, too. Leaves random weights in the model.
Probing probe_hidden_states(const ProbingConfig& config, const SentenceModel& model);

}  // namespace attend
