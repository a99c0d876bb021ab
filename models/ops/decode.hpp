// The arithmetic of decoding a token at a time: attention of single queries over what was cached, and the best next
// tokens of a row of logits. Inference only; attention is arXiv 1706.03762, eq. 1, as ops::attention.
//
// Legend: R rows (hypotheses), T steps so far, M tokens of the memory, S source length, H width, V vocabulary, K best.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "data/batch/batch.hpp"

namespace attend::ops {

// What R hypotheses have read so far in one layer, never copied: products[t] is the fused product [R_t, 3H] = q | k | v
// that step t made of its rows, and ancestry[t][r] is the row of it that hypothesis r descends from. A beam that splits
// or dies changes the ancestry, some R integers a step, and no key or value moves.
//
//   Two rows; after step 0 the second dies and the first splits: ancestry = {{0, 0}, {0, 1}}.
using Ancestry = std::vector<std::vector<std::int64_t>>;

// Each row's newest query over its own T keys and values: [R, H], in the type of the products.
torch::Tensor decode_self_attention(std::span<const torch::Tensor> products, const Ancestry& ancestry,
                                    std::int64_t heads);

// Row r's query over the keys and values kv_MC [M, 2H] = k | v of sentence sentences[r]: [R, H]. `weights_RS`, where
// given, receives the mean of the heads' weights, fp32, zero behind the sentence. An empty sentence gives zeros.
torch::Tensor decode_cross_attention(const torch::Tensor& q_RH, const torch::Tensor& kv_MC, const Layout& memory,
                                     std::span<const std::int64_t> sentences, std::int64_t heads,
                                     torch::Tensor* weights_RS = nullptr);

// The K largest of log_softmax(logits) of each row, best first, ties to the smaller id; K = min(k, V). Where a row's
// normaliser is not finite, all its values are -infinity.
struct TopLogProbs {
  std::int64_t k = 0;
  std::vector<float> values;      // R * K
  std::vector<std::int64_t> ids;  // R * K
};
TopLogProbs top_log_probs(const torch::Tensor& logits_RV, std::int64_t k);

}  // namespace attend::ops
