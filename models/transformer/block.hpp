// A block of the Transformer (Vaswani et al. 2017, arXiv 1706.03762, section 3.1): a list of sub-layers, each with a
// residual sum and a norm. Encoder, BERT and language model have self-attention and a feed-forward network; a decoder
// has attention to the encoder's output between them. The norm comes after the sum (post, as in the paper), before the
// sub-layer (pre, arXiv 2002.04745), or not at all (none). Without residual sums, "x + " below is left out.
//
//   post:  x = norm(x + dropout(sub-layer(x)))
//   pre:   x = x + dropout(sub-layer(norm(x))), and a norm after the last block
//   none:  x = x + dropout(sub-layer(x))
//
// Modules are named as in torch.nn.TransformerEncoderLayer and TransformerDecoderLayer.
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/attention/kinds.hpp"
#include "models/attention/multi_head.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/norm.hpp"
#include "models/transformer/stack_options.hpp"
#include "models/transformer/sublayers.hpp"

namespace attend {

// The blocks of a stack: an encoder's, in which all tokens see each other; a decoder's, in which a token sees itself,
// those before it and the encoder's output; or a language model's, without the latter. A hybrid is a language model
// whose tokens may also all see each other.
enum class StackKind { encoder, decoder, language, hybrid };
constexpr AttentionPlace place_of(StackKind kind) {
  return kind == StackKind::encoder ? AttentionPlace::encoder : AttentionPlace::decoder;
}

// What is not an option of a stack.
struct StackForm {
  StackKind kind = StackKind::encoder;
  double norm_eps = 1e-5;
  // The deviation of each sub-layer's last matrix is multiplied by it. GPT-2 (Radford et al. 2019, section 2.3) has the
  // number of residual sums to the power of -1/2, so that their branches do not hide the embeddings at first.
  double branch_scale = 1;
  bool head_gates = false;  // learnt gates of all heads
};

// The input of each layer at the tokens before each sentence, to which its tokens attend as well: the memory of
// Transformer-XL (Dai et al. 2019, arXiv 1901.02860, section 3.2). It gets no gradient.
struct EarlierTokens {
  std::vector<torch::Tensor> hidden_MH;  // [layer], laid out by `layout`
  Layout layout;
};

// The input of a stack besides x, which contains whole sentences laid out by `layout`, or, with a cache, the newest
// token of each hypothesis.
struct StackInput {
  const Layout& layout;
  const Selection* selected = nullptr;           // tokens whose last hidden state is needed; null: all
  const DecoderMemory* memory = nullptr;         // decoders
  EarlierTokens* earlier = nullptr;              // language models; `forward` appends the tokens of x to it
  const TwoStreams* streams = nullptr;           // encoders: x has two streams, and `layout` is that of both
  KeyValueCache* cache = nullptr;                // decoding
  std::span<const std::int64_t> sentences = {};  // decoding: the sentence of the memory that each row attends to
  bool both_sides = false;                       // hybrids: tokens see those after them, too
};

// The same for one block.
struct BlockInput {
  const StackInput& stack;
  const Layout& layout;    // of x
  std::int64_t layer = 0;  // a shared block is applied in several layers
  const Selection* selected = nullptr;
};

class TransformerBlockImpl : public torch::nn::Module {
 public:
  // `layer`: selects the pruned heads.
  TransformerBlockImpl(const StackOptions& options, const StackForm& form, std::int64_t layer);

  // [M, H], or [K, H] for the selected tokens: they attend to all tokens, but only they go through residual sums, norms
  // and feed-forward.
  torch::Tensor forward(torch::Tensor x_MH, const BlockInput& input, Pass& pass) const;

  // This block's stored keys and values of a memory, [M, C].
  torch::Tensor keys_values(const torch::Tensor& memory_MH) const { return multihead_attn_->keys_values(memory_MH); }

 private:
  struct SubLayer {
    std::string_view name;
    std::function<torch::Tensor(const torch::Tensor&, const BlockInput&, Pass&)> forward;
    Norm norm;  // null: none
  };

  torch::Tensor attend_within(const torch::Tensor& x_MH, const BlockInput& input, Pass& pass) const;
  torch::Tensor attend_to_memory(const torch::Tensor& x_MH, const BlockInput& input, Pass& pass) const;

  // sum = x + dropout(y), or dropout(y) without residuals; norm = norm(sum), or sum without a norm.
  ops::AddNorm add(const torch::Tensor& y_MH, const torch::Tensor& x_MH, const Norm& norm, Pass& pass) const;

  StackOptions options_;
  std::optional<Fourier> fourier_;  // in place of self_attn
  MultiHeadAttention self_attn_{nullptr};
  AttentionPlace place_;
  MultiHeadAttention multihead_attn_{nullptr};  // decoders
  FeedForward feed_forward_;
  std::vector<SubLayer> sub_layers_;
};
TORCH_MODULE(TransformerBlock);

// The blocks of an encoder or decoder, and with pre-norm a last norm of the residual stream: one block per layer, or
// the same block in every layer (ALBERT, Lan et al. 2019, arXiv 1909.11942, section 3.1).
class StackImpl : public torch::nn::Module {
 public:
  // `options`: resolved.
  StackImpl(const StackOptions& options, const StackForm& form);

  // [M, H], or [K, H] for the tokens that are selected from the last layer.
  torch::Tensor forward(torch::Tensor x_MH, const StackInput& input, Pass& pass) const;

  // The keys and values of an encoder's output, for a decoder.
  DecoderMemory memory(const torch::Tensor& encoded_MH, const Layout& layout) const;

 private:
  std::int64_t layers_;
  AttentionPlace place_;
  std::vector<TransformerBlock> blocks_;
  Norm norm_;  // with pre-norm
};
TORCH_MODULE(Stack);

}  // namespace attend
