// Two-stream self-attention (XLNet, Yang et al. 2019, arXiv 1906.08237, section 2.3): the tokens of a sentence become
// known in some order, independent of their positions. Each token to predict has a query, which knows its position, but
// not the token. With the same weights for both streams, in every layer,
//
//   h_i = block(q: h_i, k v: h_j with rank_j <= rank_i)      content stream, of every token
//   g_i = block(q: g_i, k v: h_j with rank_j <  rank_i)      query stream, of the tokens to predict
//
// Both streams are rows of one tensor, with the queries of each sentence after its tokens, so a block computes them
// together; only tokens have keys and values. Tokens of equal rank see each other: if all ranks are equal, the content
// stream is that of an encoder; if ranks are positions, that of a causal model.
//
//   "a dog barks", known in the order barks a dog, ranks 1 2 0; dog is to be predicted:
//     rows a, dog, barks, ?   which see   a barks; a dog barks; barks; a barks
//
// Legend: docs/architecture.md; K tokens to predict.
#pragma once

#include <torch/types.h>

#include "data/batch/batch.hpp"
#include "models/attention/heads.hpp"

namespace attend {

struct TwoStreams : JoinedSentences {
  // `queried`: the tokens of `sentences` to predict; ranks_M: int64, on the model's device.
  TwoStreams(const Layout& sentences, const Selection& queried, const torch::Tensor& ranks_M)
      : JoinedSentences(sentences, queried.layout, ranks_M.device()) {
    const torch::Tensor& positions_M = sentences.on(ranks_M.device()).places_M;
    places_M = joined(positions_M, queried.of(positions_M));
    ranks = {.of_queries_M = joined(ranks_M, queried.of(ranks_M) - 1), .of_keys_M = ranks_M};
  }

  const Selection& tokens() const { return first; }
  const Selection& queries() const { return second; }

  torch::Tensor places_M;  // of each row in its sentence
  TokenRanks ranks;        // of all rows as queries, of tokens as keys
};

}  // namespace attend
