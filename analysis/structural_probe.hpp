// Structural probes (Hewitt and Manning 2019, N19-1419): a linear map B of rank at most 64 such that squared distances
// between words approximate those in the tree of their sentence, and another such that squared norms approximate the
// depths of words:
//
//   d(i, j) = ‖B (h_i - h_j)‖²    loss of a sentence of n words: Σ_ij |tree(i, j) - d(i, j)| / n²
//   d(i)    = ‖B h_i‖²                                            Σ_i  |depth(i)   - d(i)|   / n
//
//   the dog sees a cat     depths 2 1 0 2 1, distance (the, cat) = 3
//
// Legend: docs/architecture.md; W words of all sentences, H the width of a layer, T words of a sentence.
#pragma once

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "analysis/linear_probe.hpp"
#include "data/text/conll.hpp"

namespace attend {

struct WordTree {
  std::vector<std::pair<std::size_t, std::size_t>> edges = {};  // i < j, without punctuation
  std::vector<bool> is_punctuation = {};                        // of each word: UPOS PUNCT
  std::size_t root = 0;
  torch::Tensor distances_TT = {};  // edges between two words, fp32
  torch::Tensor depths_T = {};      // edges to the root, fp32
};
WordTree tree_of(const TreeSentence& sentence);

// The edges i < j of the minimum spanning tree over the items that are not left out (Prim 1957). `weights` is a
// symmetric n × n matrix, row by row; n is the size of `left_out`.
std::vector<std::pair<std::size_t, std::size_t>> minimum_spanning_tree(std::span<const float> weights,
                                                                       const std::vector<bool>& left_out);

struct StructuralScores {
  // Unlabelled, undirected attachment: the share of the edges of all test trees that are in the minimum spanning tree
  // of predicted distances. Punctuation is left out of both.
  double attachment = 0;
  // Spearman's correlation of the predicted distances from a word with the true ones; mean over the words of all
  // sentences of a length, then over lengths from 5 to 50. NaN without such sentences.
  double distance_correlation = 0;
  // The share of the test sentences in which the root is the word of least predicted depth, punctuation left out.
  double root_accuracy = 0;
  // Spearman's correlation of predicted and true depths of a sentence; mean over sentences of a length, then lengths.
  double depth_correlation = 0;
};

// Trains both maps on the fitted sentences and measures them on the test. Sentence b has the rows offsets[b] to
// offsets[b + 1] - 1 of x_WH. The seed determines initial weights and the order of sentences. Interrupted after SIGINT
// or SIGTERM.
StructuralScores structural_probe(const torch::Tensor& x_WH, const std::vector<std::int64_t>& offsets,
                                  const std::vector<WordTree>& trees, const ProbeSplit& split, std::uint64_t seed);

// The attachment if every word is linked to the one before it, leaving out punctuation.
double left_neighbour_attachment(std::span<const WordTree> trees);

}  // namespace attend
