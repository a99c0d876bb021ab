// Forced decoding: the probabilities of given pieces. The model reads them instead of its own predictions (teacher
// forcing), so that one forward pass gives all of these probabilities.
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <vector>

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

}  // namespace attend
