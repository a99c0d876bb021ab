// The Transformer of Vaswani et al. 2017 (arXiv 1706.03762): embeddings scaled by sqrt(H) plus sinusoids, N blocks of
// self-attention and feed-forward on each side, cross-attention in the decoder, dropout on every sub-layer's output.
// Post-norm (as in the paper) and pre-norm (arXiv 2002.04745) are two classes of blocks. Not included: learned and
// relative positions, final norms for post-norm, label smoothing (which is in ops::cross_entropy).
//
// Parameters are named as torch.nn.Transformer's, except for fused projections:
//   PyTorch self_attn.in_proj_weight [3H, H]       = self_attn.in_proj.weight
//   PyTorch multihead_attn.in_proj_weight [3H, H]  = multihead_attn.q_proj.weight [H, H] over kv_proj.weight [2H, H]
//   (likewise biases), and tgt_embedding.weight is the source, target and output table when they are tied.
//
// Legend: docs/architecture.md; C = 2H (k | v) or 3H (q | k | v).
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "models/layers/blocks.hpp"
#include "models/layers/layers.hpp"
#include "models/translation/config.hpp"
#include "models/translation/seq2seq.hpp"

namespace attend {

struct TransformerConfig {
  std::int64_t src_vocabulary = 0;
  std::int64_t tgt_vocabulary = 0;
  std::int64_t encoder_layers = 6;
  std::int64_t decoder_layers = 6;
  NormPlace norm = NormPlace::post;
  bool tie_embeddings = true;  // source with target; target and output always are
  BlockConfig block = {};      // of both sides; its dropout also applies to the embeddings
};

// The projections of cross-attention: k | v are computed once per sentence, q at every position.
class CrossAttentionImpl : public torch::nn::Module {
 public:
  explicit CrossAttentionImpl(const BlockConfig& config);
  Linear q_proj;
  Linear kv_proj;
  Linear out_proj;
};
TORCH_MODULE(CrossAttention);

// The attention of the decoder's blocks to the target prefix and to the memory: over whole sentences in teacher
// forcing, over caches in decoding. It lets a block be written once for both.
class DecoderAttention {
 public:
  virtual ~DecoderAttention() = default;
  virtual torch::Tensor self(std::int64_t layer, const torch::Tensor& qkv_MC) = 0;  // C = 3H; gives [M, H]
  virtual torch::Tensor cross(std::int64_t layer, const torch::Tensor& q_MH) = 0;
};

class DecoderBlockImpl : public torch::nn::Module {
 public:
  DecoderBlockImpl(const BlockConfig& config, std::int64_t layer);
  virtual torch::Tensor forward(const torch::Tensor& x_MH, DecoderAttention& attention, Pass& pass) const = 0;

  // The keys and values of this block for the memory, k | v, [M, 2H].
  torch::Tensor project_memory(const torch::Tensor& memory_MH) const {
    return multihead_attn_->kv_proj->forward(memory_MH);
  }

 protected:
  torch::Tensor attend_self(const torch::Tensor& x_MH, DecoderAttention& attention) const;
  torch::Tensor attend_cross(const torch::Tensor& x_MH, DecoderAttention& attention) const;

  BlockConfig config_;
  std::int64_t layer_;
  SelfAttention self_attn_;
  CrossAttention multihead_attn_;
  Linear linear1_;
  Linear linear2_;
  LayerNorm norm1_;
  LayerNorm norm2_;
  LayerNorm norm3_;
};

class PostNormDecoderBlockImpl : public DecoderBlockImpl {
 public:
  using DecoderBlockImpl::DecoderBlockImpl;
  torch::Tensor forward(const torch::Tensor& x_MH, DecoderAttention& attention, Pass& pass) const override;
};

class PreNormDecoderBlockImpl : public DecoderBlockImpl {
 public:
  using DecoderBlockImpl::DecoderBlockImpl;
  torch::Tensor forward(const torch::Tensor& x_MH, DecoderAttention& attention, Pass& pass) const override;
};

std::shared_ptr<DecoderBlockImpl> make_decoder_block(NormPlace norm, const BlockConfig& config, std::int64_t layer);

class TransformerImpl : public Seq2SeqImpl {
 public:
  explicit TransformerImpl(const TransformerConfig& config);

  std::shared_ptr<const Memory> encode(const Sequences& src, Pass& pass) const override;
  std::unique_ptr<DecoderState> start(const Memory& memory, std::span<const std::int64_t> sentences) const override;

  torch::Tensor step(const Memory& memory, DecoderState& state, const torch::Tensor& previous_R,
                     Pass& pass) const override;
  torch::Tensor forward(const Batch& batch, Pass& pass) const override;
  const ops::Weight& output_table() const override { return tgt_embedding_->weight; }

 private:
  torch::Tensor positions(std::int64_t first, std::int64_t length) const;
  torch::Tensor embed(const Embedding& table, const Sequences& tokens, const torch::Tensor& positions_TH,
                      Pass& pass) const;
  torch::Tensor decode(torch::Tensor x_MH, DecoderAttention& attention, Pass& pass) const;

  TransformerConfig config_;
  Embedding tgt_embedding_;
  Embedding src_embedding_;  // the same as the target's if tied
  std::shared_ptr<EncoderStackImpl> encoder_;
  std::shared_ptr<StackImpl<DecoderBlockImpl>> decoder_;
  torch::Tensor positions_TH_;
};
TORCH_MODULE(Transformer);

}  // namespace attend
