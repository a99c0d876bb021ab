// Multi-head attention (Vaswani et al. 2017, arXiv 1706.03762, section 3.2.2): projections around the attention of
// heads, within sentences (encoder, BERT, decoder) or from a decoder to its memory.
//
//   MultiHead(x, y) = Heads(x Wq, y Wk, y Wv) Wo;  y = x within sentences, where rotary positions turn x Wq and y Wk
//
// Parameters: self-attention has in_proj, q | k | v fused; attention to a memory has q_proj, and kv_proj, which is
// computed once per sentence. Both have out_proj. Self-attention without some of its projections has separate q_proj,
// k_proj, v_proj and out_proj, with x in place of those that it lacks; queries and keys may share q_proj (Kitaev et al.
// 2020, arXiv 2001.04451, section 2). Heads with a fixed pattern (synthesizers.hpp) have no rows in q_proj and k_proj.
// Pruned heads have neither rows in these projections nor columns in out_proj. Heads may have learnt gates
// (edits.hpp), gates.log_alpha.
//
// Legend: docs/architecture.md; C = 2H (k | v). Between the projections, H is the width of the heads that are not
// pruned.
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
#include "models/attention/edits.hpp"
#include "models/attention/heads.hpp"
#include "models/attention/memory_rows.hpp"
#include "models/attention/relative_positions.hpp"
#include "models/layers/layers.hpp"

namespace attend {

// Maps the input to queries, keys and values, and the heads' vectors to the output.
class Projections {
 public:
  virtual ~Projections() = default;
  virtual torch::Tensor queries(const torch::Tensor& x_MH) const = 0;      // [M, H]
  virtual torch::Tensor keys_values(const torch::Tensor& x_MH) const = 0;  // k | v, [M, 2H]
  virtual ops::QueriesKeysValues all(const torch::Tensor& x_MH) const = 0;
  torch::Tensor output(const torch::Tensor& context_MH) const {
    return out_proj_ ? out_proj_->forward(context_MH) : context_MH;
  }

 protected:
  Linear out_proj_ = nullptr;  // null: none; made last, after the maps of queries, keys and values
};

// The memory of a decoder as stored keys and values (heads.hpp).
struct DecoderMemory {
  std::vector<torch::Tensor> kv_MC;  // of each layer
  Layout layout;
};

class MultiHeadAttentionImpl : public torch::nn::Module {
 public:
  MultiHeadAttentionImpl(const BlockOptions& options, const AttentionShape& shape);

  // Self-attention within each sentence of x_MH: [M, H]; or only that of the selected tokens, to all tokens: [K, H].
  // With two streams, `layout` is that of both. `both_sides`: a decoder's tokens see those after them, too.
  torch::Tensor within(const torch::Tensor& x_MH, const Layout& layout, const Selection* selected, std::int64_t layer,
                       Pass& pass, const TwoStreams* streams = nullptr, bool both_sides = false) const;
  // The same for the newest token of each hypothesis: [R, H]. Its keys and values are added to the cache, after
  // `begin_step`.
  torch::Tensor step_within(const torch::Tensor& x_RH, KeyValueCache& cache, std::int64_t layer, Pass& pass) const;

  // The keys and values of a memory for the functions below, stored: [M, C].
  torch::Tensor keys_values(const torch::Tensor& memory_MH) const {
    return heads_.stored(projections_->keys_values(memory_MH));
  }
  // Attention of each sentence to the same sentence of the memory: [M, H].
  torch::Tensor to_memory(const torch::Tensor& x_MH, const Layout& layout, const DecoderMemory& memory,
                          std::int64_t layer, Pass& pass) const;
  // The same for the newest token of each hypothesis, number `step`: row r attends to sentence sentences[r]. [R, H].
  torch::Tensor step_to_memory(const torch::Tensor& x_RH, std::span<const std::int64_t> sentences, std::int64_t step,
                               const DecoderMemory& memory, std::int64_t layer, Pass& pass) const;

 private:
  // From the concatenated vectors of the heads.
  torch::Tensor output(const torch::Tensor& context_MH, Pass& pass) const;

  std::unique_ptr<Projections> projections_;
  std::optional<Rotary> rotary_;  // if positions are encoded by turning queries and keys
  Heads heads_;
  std::shared_ptr<LearntGates> gates_;  // null: none
};
TORCH_MODULE(MultiHeadAttention);

}  // namespace attend
