// Multi-head attention (Vaswani et al. 2017, arXiv 1706.03762, section 3.2.2): projections around the attention of
// heads. One module for every place: within the sentences of an encoder, BERT or decoder, and of a decoder to its
// memory.
//
//   MultiHead(x, y) = Heads(x Wq, y Wk, y Wv) Wo;  y = x within sentences, where rotary positions turn x Wq and y Wk
//
// Parameters: self-attention has in_proj, q | k | v fused; attention to a memory has q_proj, and kv_proj, which is
// computed once per sentence. Both have out_proj. Self-attention without some of its projections has q_proj, k_proj,
// v_proj and out_proj as far as it has them, and x in place of the others; queries and keys may share q_proj (Kitaev et
// al. 2020, arXiv 2001.04451, section 2). With heads that compare nothing (patterns.hpp), q_proj and k_proj have the
// columns of the others alone. Pruned heads have neither rows in these projections nor columns in out_proj. Heads may
// have learnt gates (learnt_gates.hpp), log_alpha of gates.
//
// Legend: docs/architecture.md; C = 2H (k | v). Between the projections H is the width of the heads that there are.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data/batch/batch.hpp"
#include "models/attention/cache.hpp"
#include "models/attention/heads.hpp"
#include "models/attention/learnt_gates.hpp"
#include "models/attention/rotary.hpp"
#include "models/attention/two_streams.hpp"
#include "models/layers/layers.hpp"

namespace attend {

struct MultiHeadConfig {
  HeadsConfig heads;
  ProjectionKind projections = ProjectionKind::all;  // of self-attention
  bool bias = true;
  bool gates = false;    // a learnt one of each head
  double deviation = 0;  // standard deviation of initial weights; 0: Xavier's rule
};

// Maps the input to queries, keys and values, and the heads' vectors to the output.
class Projections {
 public:
  virtual ~Projections() = default;
  virtual torch::Tensor queries(const torch::Tensor& x_MH) const = 0;      // [M, H]
  virtual torch::Tensor keys_values(const torch::Tensor& x_MH) const = 0;  // k | v, [M, 2H]
  virtual ops::QueriesKeysValues all(const torch::Tensor& x_MH) const = 0;
  virtual torch::Tensor output(const torch::Tensor& context_MH) const = 0;
};

// The keys and values of a memory in one layer.
struct KeysValues {
  const torch::Tensor& kv_MC;
  const Layout& layout;
};

class MultiHeadAttentionImpl : public torch::nn::Module {
 public:
  explicit MultiHeadAttentionImpl(const MultiHeadConfig& config);

  // Within each sentence of x_MH: [M, H]. If only some tokens are selected, these attend to all tokens: [K, H]. With
  // two streams, `layout` is that of both.
  torch::Tensor within(const torch::Tensor& x_MH, const Layout& layout, const Selection* selected, std::int64_t layer,
                       Pass& pass, const TwoStreams* streams = nullptr) const;
  // The same for the newest token of each hypothesis, which is added to what it has read: [R, H].
  torch::Tensor step_within(const torch::Tensor& x_RH, KeyValueCache& cache, std::int64_t layer, Pass& pass) const;

  // What the functions below attend to, k | v [M, 2H] of a memory.
  torch::Tensor keys_values(const torch::Tensor& memory_MH) const { return projections_->keys_values(memory_MH); }
  // Each sentence to the same sentence of the memory: [M, H].
  torch::Tensor to_memory(const torch::Tensor& x_MH, const Layout& layout, const KeysValues& memory, std::int64_t layer,
                          Pass& pass) const;
  // The newest token of each hypothesis, number `step`, to a sentence of the memory, sentences[r] of row r: [R, H].
  torch::Tensor step_to_memory(const torch::Tensor& x_RH, std::span<const std::int64_t> sentences, std::int64_t step,
                               const KeysValues& memory, std::int64_t layer, Pass& pass) const;

 private:
  // MultiHead, of the vectors of the heads.
  torch::Tensor output(const torch::Tensor& context_MH, Pass& pass) const;

  std::unique_ptr<Projections> projections_;
  std::optional<Rotary> rotary_;  // if positions are encoded by turning queries and keys
  Heads heads_;
  std::shared_ptr<LearntGates> gates_;  // null: none
};
TORCH_MODULE(MultiHeadAttention);

}  // namespace attend
