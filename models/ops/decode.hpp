// Attention of single queries over cached keys and values, for decoding token by token. Inference only; arXiv
// 1706.03762, eq. 1, as in ops::attention.
//
// Legend: R rows (hypotheses), T steps so far, M tokens of the memory, H width.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "data/batch/batch.hpp"

namespace attend::ops {

// The key-value cache of R hypotheses in one layer, never copied: kv[t] is the product [R_t, 2H] = k | v of step t, and
// ancestry[t][r] is the row of it from which hypothesis r descends. When hypotheses of a beam split or die, only the
// ancestry changes, R integers per step; no key or value moves.
//
//   Two rows; after step 0 the second dies and the first splits: ancestry = {{0, 0}, {0, 1}}.
using Ancestry = std::vector<std::vector<std::int64_t>>;

// Attends with each row's query to its own T keys and values; returns [R, H] in the type of the query.
torch::Tensor decode_self_attention(const torch::Tensor& q_RH, std::span<const torch::Tensor> kv,
                                    const Ancestry& ancestry, std::int64_t heads);

// Attends with row r's query to the keys and values kv_MC [M, 2H] = k | v of sentence sentences[r]; returns [R, H]. An
// empty sentence gives zeros.
torch::Tensor decode_cross_attention(const torch::Tensor& q_RH, const torch::Tensor& kv_MC, const Layout& memory,
                                     std::span<const std::int64_t> sentences, std::int64_t heads);

}  // namespace attend::ops
