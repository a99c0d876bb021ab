// Attention of single queries over what was cached: the arithmetic of decoding a token at a time. Inference only;
// arXiv 1706.03762, eq. 1, as ops::attention.
//
// Legend: R rows (hypotheses), T steps so far, M tokens of the memory, H width.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "data/batch/batch.hpp"

namespace attend::ops {

// What R hypotheses have read so far in one layer, never copied: kv[t] is the product [R_t, 2H] = k | v that step t
// made of its rows, and ancestry[t][r] is the row of it that hypothesis r descends from. A beam that splits or dies
// changes the ancestry, some R integers a step, and no key or value moves.
//
//   Two rows; after step 0 the second dies and the first splits: ancestry = {{0, 0}, {0, 1}}.
using Ancestry = std::vector<std::vector<std::int64_t>>;

// Each row's query over its own T keys and values: [R, H], in the type of the query.
torch::Tensor decode_self_attention(const torch::Tensor& q_RH, std::span<const torch::Tensor> kv,
                                    const Ancestry& ancestry, std::int64_t heads);

// Row r's query over the keys and values kv_MC [M, 2H] = k | v of sentence sentences[r]: [R, H]. An empty sentence
// gives zeros.
torch::Tensor decode_cross_attention(const torch::Tensor& q_RH, const torch::Tensor& kv_MC, const Layout& memory,
                                     std::span<const std::int64_t> sentences, std::int64_t heads);

}  // namespace attend::ops
