// Linear probes, and when the training of a probe ends.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/text/conll.hpp"

namespace attend {

// Training of a small module until the loss of held-out items no longer falls, shared by all probes of hidden states.

// An epoch reads all items in batches, in a new order. After an epoch whose held-out loss is not the least so far, the
// learning rate is halved; after kPatience of them in a row, or kMostEpochs in all, training ends with the weights of
// the least loss. The optimiser is AdamW without decay (train/optimiser.hpp).
struct EarlyStopping {
  static constexpr int kMostEpochs = 60;
  static constexpr int kPatience = 4;

  std::int64_t items = 0;  // at least one
  std::int64_t batch = 0;
  double learning_rate = 0;
  std::uint64_t seed = 0;                                                       // of the order
  std::function<torch::Tensor(std::span<const std::int64_t> items)> loss = {};  // with a gradient
  std::function<double()> held_out_loss = {};                                   // called without gradients
};

// Trains `module`, which has its initial weights. Interrupted after SIGINT or SIGTERM.
void train_with_early_stopping(const torch::nn::Module& module, const EarlyStopping& how);

// Linear probes: softmax regression from the vector of a word to a label, such as its part of speech. Two measures show
// how much of the accuracy is due to the representation:
//
//   control task       each form of a word has a random label, drawn from the distribution of the labels;
//                      selectivity is the accuracy minus that of a probe for the control task (Hewitt and Liang 2019,
//                      arXiv 1909.03368)
//   online code        bits to transmit the labels of the n fitted words, given their vectors: the first block with a
//                      uniform code, each later one with a probe trained on all before it (Voita and Titov 2020, arXiv
//                      2003.12298, equation 4),
//                        L = t_1 log2 K - Σ_i log2 p_i(y_{t_i + 1} … y_{t_{i+1}} | x),    compression = n log2 K / L
//
// Legend: docs/architecture.md; W words of all sentences, K those that have a label, H the width of a layer, L labels.

// The first 72 % of the sentences are fitted, the next 8 % choose the stopping point, and the last 20 % are tested.
struct ProbeSplit {
  std::size_t held_out = 0, test = 0, end = 0;  // the first sentence of each, and their number

  static ProbeSplit of(std::size_t sentences);
  bool operator==(const ProbeSplit&) const = default;
};

// The words that have a label, in the order of the text.
struct WordLabels {
  std::vector<std::int64_t> words = {};   // row of each among all words
  std::vector<std::int64_t> labels = {};  // of each; -1 if it first occurs in the test
  std::vector<std::int64_t> types = {};   // of each: number of its form
  std::vector<std::string> names = {};    // of the labels
  std::size_t held_out = 0, test = 0;     // the first word of each part

  // False if a part has no words or there are fewer than two labels: nothing can be measured.
  bool suffice() const { return held_out > 0 && held_out < test && test < words.size() && names.size() > 1; }
};

// `label` gives the label of a word, empty where it has none.
WordLabels label_words(std::span<const TreeSentence> sentences, const ProbeSplit& split,
                       const std::function<std::string(const TreeWord&)>& label);

// The same words with the labels of the control task.
WordLabels control_labels(const WordLabels& words, std::uint64_t seed);

// The most frequent label before those of the test, and the share of the test that has it.
struct FrequentLabel {
  std::string name = {};
  double accuracy = 0;
};
FrequentLabel most_frequent_label(const WordLabels& words);

// The share of the test words whose label a trained probe finds. The columns of x_WH are scaled to mean 0 and variance
// 1 over the fitted words, and weights begin at 0; the seed determines the order of the words.
double linear_probe_accuracy(const torch::Tensor& x_WH, const WordLabels& words, std::uint64_t seed);

// The ends t_1 < t_2 < … of the blocks of n words: 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.25, 12.5, 25, 50 and 100 %, rounded
// up, without blocks that would be empty.
std::vector<std::int64_t> online_code_blocks(std::int64_t n);

struct DescriptionLength {
  double bits = 0;          // L
  double uniform_bits = 0;  // n log2 K

  double compression() const { return uniform_bits / bits; }
};
// The fitted words are transmitted in an order of this seed. Labels of held-out words choose the stopping points, which
// L does not count.
DescriptionLength online_code(const torch::Tensor& x_WH, const WordLabels& words, std::uint64_t seed);

}  // namespace attend
