// Attention of N heads, and of two streams.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "data/batch/batch.hpp"
#include "models/attention/block_options.hpp"
#include "models/attention/parts.hpp"
#include "models/layers/pass.hpp"
#include "models/ops/attention.hpp"

namespace attend {

// Attention of N heads over projected queries, keys and values (Vaswani et al. 2017, arXiv 1706.03762, section 3.2),
// wherever heads attend: within sentences, from a decoder's step to its previous steps, and to a memory.
//
//   softmax(score(q, k)) v  within the scope, for every head; the heads' vectors are concatenated
//
// Pruned heads do not count in N, nor in H = N * D.
//
// Legend: docs/architecture.md; C = 2H (k | v) or 3H (q | k | v), unless stored keys have another width.

// The order in which tokens become known, independent of their positions: a query attends only to keys whose rank is
// not above its own. int64; undefined: no such restriction.
struct TokenRanks {
  torch::Tensor of_queries_M = {};
  torch::Tensor of_keys_M = {};
};

class Heads {
 public:
  Heads(const BlockOptions& options, const AttentionShape& shape);

  // Registers the parts with parameters as modules of the model.
  void register_in(torch::nn::Module& model) const;

  // What decoding keeps of keys and values k | v: the same, or with keys that the score has prepared, which may have
  // another width, in fp32.
  torch::Tensor stored(const torch::Tensor& kv_MC) const;

  // Attention of each query to the keys of its sentence, stored ones in attention to a memory: [M, H], in the type of
  // `rows`. `queries` and `keys` are the layouts of both. `places_M`: the position of each query in its sentence;
  // undefined if all tokens are queries. `both_sides`: a causal scope is lifted.
  torch::Tensor within(const ops::QueriesKeysValues& rows, const Layout& queries, const torch::Tensor& places_M,
                       const Layout& keys, std::int64_t layer, Pass& pass, const TokenRanks& ranks = {},
                       bool both_sides = false) const;

  // The newest query of each hypothesis to all its steps, stored: [R, H]. Inference only.
  torch::Tensor to_steps(const torch::Tensor& q_RH, std::span<const torch::Tensor> kv, const ops::Ancestry& ancestry,
                         std::int64_t layer, Pass& pass) const;

  // The newest query of each hypothesis, number `step`, to the stored memory: row r attends to sentence sentences[r].
  // [R, H]. Inference only.
  torch::Tensor to_memory(const torch::Tensor& q_RH, const torch::Tensor& kv_MC, const Layout& memory,
                          std::span<const std::int64_t> sentences, std::int64_t step, std::int64_t layer,
                          Pass& pass) const;

 private:
  // Queries, prepared keys and values padded to a block, fp32, with an axis of heads.
  struct Padded {
    torch::Tensor q_BNTD, keys_BNSA, v_BNSD;
    Places places;
    const Layout* layout = nullptr;  // of the queries; nullptr: each row of q is one
  };
  using FusedOp = std::function<torch::Tensor(const ops::HeadsForm&)>;

  // The mechanism, for queries `q`. Where possible, `fused` computes all of it, of the `form` that is begun with the
  // maximum number of keys per query; without it, or if its result is undefined, `pad` provides the operands of the
  // equation.
  torch::Tensor attend(const torch::Tensor& q, std::int64_t layer, Pass& pass, ops::HeadsForm form,
                       const FusedOp& fused, const std::function<Padded()>& pad) const;

  // [B, T, H] to [B, N, T, D], fp32.
  torch::Tensor split(const torch::Tensor& x_BTH) const;
  // Of one query [R, H] for each row, and stored k | v [R, S, C].
  Padded of_single_queries(const ops::QueriesKeysValues& rows, Places places) const;
  // The prepared keys [B, N, S, A] of stored ones [B, S, N * A].
  torch::Tensor prepared(const torch::Tensor& stored_BSC) const;

  AttentionShape shape_;
  double dropout_;  // on the weights
  std::shared_ptr<Score> score_;
  std::shared_ptr<Scope> scope_;
};

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
