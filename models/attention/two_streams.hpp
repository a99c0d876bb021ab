// Two-stream self-attention (XLNet, Yang et al. 2019, arXiv 1906.08237, section 2.3): the tokens of a sentence become
// known in some order, whatever their positions, and each of those to predict is asked for by a query that knows its
// position, but not itself. With the same weights for both, in every layer,
//
//   h_i = block(q: h_i, k v: h_j with rank_j <= rank_i)      content stream, of every token
//   g_i = block(q: g_i, k v: h_j with rank_j <  rank_i)      query stream, of the tokens that are asked for
//
// Both streams are rows of one tensor, the queries of each sentence behind its tokens, so that a block computes them
// at once; keys and values are those of tokens alone. Tokens of the same rank see one another: if all ranks are equal,
// the content stream is that of an encoder; if they are the positions, that of a causal model.
//
//   "a dog barks", known in the order barks a dog, ranks 1 2 0; dog is asked for:
//     rows a, dog, barks, ?   which see   a barks; a dog barks; barks; a barks
//
// Legend: docs/architecture.md; K tokens that are asked for.
#pragma once

#include <ATen/ATen.h>
#include <torch/types.h>

#include "data/batch/batch.hpp"
#include "models/attention/heads.hpp"

namespace attend {

struct TwoStreams {
  // `queried`: the tokens of `sentences` that are asked for; ranks_M int64, on the model's device.
  TwoStreams(const Layout& sentences, const Selection& queried, const torch::Tensor& ranks_M);

  // What tokens [M, ...] and queries [K, ...] have, in the order of `layout`.
  torch::Tensor joined(const torch::Tensor& of_tokens_M, const torch::Tensor& of_queries_K) const {
    return at::cat({of_tokens_M, of_queries_K}).index_select(0, order_M);
  }

  Layout layout;              // of both streams
  torch::Tensor order_M;      // its rows among the tokens of all sentences followed by all queries
  Selection tokens, queries;  // of `layout`
  torch::Tensor places_M;     // of each row in its sentence
  TokenRanks ranks;           // of rows, and of tokens as keys
};

}  // namespace attend
