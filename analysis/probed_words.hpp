// The hidden states of a model by word: the vector of a word in a layer is the mean of those of its pieces.
//
//   text     a do|g sees             pieces ▁a ▁do g ▁sees
//   words    a  dog  sees            h(dog) = (h(▁do) + h(g)) / 2
//
// Layer 0 is the embedded input, layer l the output of the l-th layer (Observer::on_hidden).
//
// Legend: docs/architecture.md; W words of all sentences, H the width of a layer.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "analysis/sentence_model.hpp"
#include "data/text/conllu.hpp"
#include "eval/alignment.hpp"

namespace attend {

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

}  // namespace attend
