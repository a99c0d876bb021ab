// The Transformer of Vaswani et al. 2017 (arXiv 1706.03762): on each side, embeddings scaled by sqrt(H), plus sinusoids
// or learnt positions, then dropout and a stack of blocks (models/transformer/block.hpp). Not included: label smoothing
// (in ops::cross_entropy).
//
// Parameters are named as torch.nn.Transformer's, except for fused projections:
//   PyTorch self_attn.in_proj_weight [3H, H]       = self_attn.in_proj.weight
//   PyTorch multihead_attn.in_proj_weight [3H, H]  = multihead_attn.q_proj.weight [H, H] over kv_proj.weight [2H, H]
//   (likewise biases). tgt_embedding.weight is the target and output table, and if tied the source table. Learnt
//   positions are src_position_embedding and tgt_position_embedding; the bias of the logits is output_bias.
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <span>

#include "models/layers/layers.hpp"
#include "models/transformer/block.hpp"
#include "models/transformer/positions.hpp"
#include "models/translation/config.hpp"
#include "models/translation/seq2seq.hpp"

namespace attend {

struct TransformerConfig {
  std::int64_t src_vocabulary = 0;
  std::int64_t tgt_vocabulary = 0;
  bool tie_embeddings = true;  // source with target; target and output always are
  bool output_bias = false;
  StackOptions encoder = {}, decoder = {};  // of equal widths, positions and dropout
  bool head_gates = false;
  double word_dropout = 0;
};

class TransformerImpl : public Seq2SeqImpl {
 public:
  explicit TransformerImpl(const TransformerConfig& config);

  std::shared_ptr<const Memory> encode(const Sequences& src, Pass& pass) const override;
  std::unique_ptr<DecoderState> start(const Memory& memory, std::span<const std::int64_t> sentences) const override;

  torch::Tensor step(const Memory& memory, DecoderState& state, const torch::Tensor& previous_R,
                     Pass& pass) const override;
  torch::Tensor forward(const Batch& batch, Pass& pass) const override;
  const ops::Weight& source_table() const override { return src_embedding_->weight; }
  const ops::Weight& output_table() const override { return tgt_embedding_->weight; }
  torch::Tensor output_bias() const override { return output_bias_; }

 private:
  // Embeds target tokens from position `first` of their sentences.
  torch::Tensor embed(const Sequences& tokens, std::int64_t first, Pass& pass) const;

  TransformerConfig config_;
  Embedding tgt_embedding_;
  Embedding src_embedding_;    // the target's when tied
  torch::Tensor output_bias_;  // [V], undefined if there is none
  Stack encoder_;
  Stack decoder_;
  AddedPositions src_positions_;
  AddedPositions tgt_positions_;  // sinusoids are shared with the source
};

}  // namespace attend
