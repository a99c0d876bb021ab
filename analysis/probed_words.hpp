// The hidden states of a model by word: the vector of a word in a layer is the mean of those of its pieces.
//
//   text     a do|g sees             pieces ▁a ▁do g ▁sees
//   words    a  dog  sees            h(dog) = (h(▁do) + h(g)) / 2
//
// Layer 0 is the embedded input, layer l the output of the l-th layer (Observer::on_hidden).
//
// Legend: docs/architecture.md; W words of all sentences, H the width of a layer.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/batch/batch.hpp"
#include "data/text/conllu.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "eval/alignment.hpp"
#include "models/layers/initialise.hpp"
#include "models/layers/pass.hpp"
#include "models/run/bert_run.hpp"
#include "models/run/language_run.hpp"
#include "models/run/run.hpp"
#include "models/run/text_run.hpp"

namespace attend {

// A model that reads one sentence at a time: the encoder of a translation model (x1 … xn </s>), a language model
// (</s> x1 … xn), or an encoder of texts ([CLS] x1 … xn [SEP]).
struct ProbedModel {
  std::string description = {};  // "the encoder of a translation model (transformer)"
  Tokenizer tokenizer;
  std::int32_t begin = -1, end = -1;         // the pieces around a sentence; -1: none
  std::optional<std::int64_t> longest = {};  // the most pieces that it reads, those around the sentence among them
  std::shared_ptr<torch::nn::Module> module = {};
  InitialiserConfig initial = {};  // of its weights
  std::function<void(const Sequences&, Pass&)> read = {};

  static ProbedModel of(const Run& run);
  static ProbedModel of(const BertRun& run);
  static ProbedModel of(const TextRun& run);
  static ProbedModel of(const LanguageRun& run);

  // Any run. Throws UserError naming it if it reads source factors, which sentences with trees do not have.
  static ProbedModel load(const std::string& run, const std::string& checkpoint, torch::Device device);

  // Replaces all weights by the random ones that a training with this seed begins with.
  void randomise(std::uint64_t seed) const;

  torch::Device device() const { return module->parameters().front().device(); }
};

// The sentences that a model reads, and the hidden states of their words.
class ProbedWords {
 public:
  // Leaves out sentences that are longer than the model reads, and those with a word without a piece.
  ProbedWords(const ProbedModel& model, std::vector<TreeSentence> sentences);

  const std::vector<TreeSentence>& sentences() const { return sentences_; }
  std::int64_t num_left_out() const { return num_left_out_; }
  // The row of each sentence's first word, and the number of all words.
  const std::vector<std::int64_t>& offsets() const { return offsets_; }
  std::int64_t num_words() const { return offsets_.back(); }

  // Of the embedded input and all layers, from one sentence.
  std::vector<std::int64_t> widths(const ProbedModel& model) const;

  // [W, H] of `count` layers from `first`, fp32, on the CPU; one pass over the sentences. `model` reads as the one that
  // was given first, but may have other weights. Interrupted after SIGINT or SIGTERM.
  std::vector<torch::Tensor> vectors(const ProbedModel& model, std::int64_t first, std::int64_t count) const;

 private:
  std::vector<TreeSentence> sentences_;
  std::vector<std::vector<std::int32_t>> ids_;  // of each sentence, with the pieces around it
  std::vector<PiecesOfWords> pieces_;           // of each sentence: positions in its ids
  std::vector<std::int64_t> offsets_ = {0};
  std::int64_t num_left_out_ = 0;
};

}  // namespace attend
