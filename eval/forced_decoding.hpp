// Forced decoding: the probabilities of given pieces. The model reads them instead of its own predictions (teacher
// forcing), so that one forward pass gives all of these probabilities. Long texts are read in windows.
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/batch/batch.hpp"
#include "eval/metrics/significance.hpp"
#include "models/ops/weight.hpp"

namespace attend {

// Natural logarithms of probabilities at one position, given what the model reads there.
struct ForcedPiece {
  std::int32_t id = 0;
  double log_prob = 0;       // of the given piece
  double best_log_prob = 0;  // of the most likely piece
  bool is_best = false;      // no piece is more likely than the given one
};

// The pieces `labels_M` (int64) as predicted from the hidden states of their rows, whose products with the table and
// `bias_V` (undefined: none) are the logits. Logits are computed in blocks of rows, so that a large vocabulary needs
// little memory. In inference only.
std::vector<ForcedPiece> forced_pieces(const torch::Tensor& hidden_MH, const ops::Weight& table_VH,
                                       const torch::Tensor& bias_V, const torch::Tensor& labels_M);

// The same, but log p of the given pieces alone: [M] fp32, on the CPU.
torch::Tensor log_probs_of_labels(const torch::Tensor& hidden_MH, const ops::Weight& table_VH,
                                  const torch::Tensor& bias_V, const torch::Tensor& labels_M);

// The sum of -log p of the given pieces, a scalar in the autograd graph of the hidden states.
torch::Tensor loss_of_labels(const torch::Tensor& hidden_MH, const ops::Weight& table_VH, const torch::Tensor& bias_V,
                             const torch::Tensor& labels_M);

// Σ log p of the pieces; 0 of none.
double log_prob_of(std::span<const ForcedPiece> pieces);

// How a language model reads texts that may be longer than it reads at once. A model that reads at most L tokens reads
// a longer text in overlapping windows of L tokens. Each starts L / 2 tokens before the first that it predicts from, so
// that every piece is predicted from at least L / 2 + 1 tokens, or from all before it.
//
//   L = 8, 15 tokens:   1 … 8 | (5 … 8) 9 … 12 | (9 … 12) 13 … 15      in brackets: read, but nothing is predicted

// The tokens of a text that one forward pass reads: begin … end - 1, of which those from `scored` predict.
struct ScoredWindow {
  std::int64_t begin = 0, scored = 0, end = 0;

  std::int64_t length() const { return end - begin; }
  std::int64_t num_scored() const { return end - scored; }
  bool operator==(const ScoredWindow&) const = default;
};

// The windows of a text of `tokens` tokens, the first end token included; every token predicts in exactly one.
std::vector<ScoredWindow> scored_windows(std::int64_t tokens, std::optional<std::int64_t> longest);

// A window of one of several texts.
struct WindowOfText {
  std::size_t text = 0;
  ScoredWindow window = {};
};

// Windows as one input of a model: the tokens, the rows that predict, and the pieces that follow these.
struct WindowBatch {
  Sequences tokens = {};
  Selection scored = {};
  torch::Tensor labels_K = {};
};

// The chosen windows, in order. `texts` are the pieces to predict, the end token among them where it is one; a model
// reads `end` before the first and never the last of them.
WindowBatch make_window_batch(std::span<const std::vector<std::int32_t>> texts, std::span<const WindowOfText> windows,
                              std::span<const std::size_t> chosen, std::int32_t end, torch::Device device);

// Contrastive pairs (Sennrich 2017, arXiv 1612.04629): of a text and one with an error, a model should find the first
// more likely. Equal probabilities count as errors.
struct ContrastTally {
  std::int64_t pairs = 0;
  std::int64_t correct = 0;

  bool add(double log_prob, double contrast_log_prob);  // true if the pair is correct
  double accuracy() const;                              // 0 to 1
  metrics::Interval interval() const;                   // Wilson's, 95 %, of independent pairs
};

// The same for all pairs, for those of each kind of error and each term of BLiMP, and for those of each distance, such
// as the words between a subject and its verb (Linzen, Dupoux and Goldberg 2016, arXiv 1611.01368).
struct ContrastTable {
  ContrastTally all;
  std::map<std::string, ContrastTally> kinds, terms;
  std::map<std::int64_t, ContrastTally> distances;

  // True if the pair is correct. A pair without a kind, a distance or a term counts among all alone.
  bool add(double log_prob, double contrast_log_prob, const std::string& kind,
           const std::optional<std::int64_t>& distance, const std::string& term = {});
};

}  // namespace attend
