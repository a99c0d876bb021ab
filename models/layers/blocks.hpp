// Blocks of self-attention and feed-forward layers (arXiv 1706.03762, section 3.1), stacked in the Transformer's
// encoder and in BERT. Post-norm (as in the paper) and pre-norm (arXiv 2002.04745) are two classes.
//
// Legend: docs/architecture.md; K tokens whose result is needed, C = 3H.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options.hpp"
#include "models/layers/layers.hpp"

namespace attend {

// The position of the norm in a Transformer block: after the residual sum (arXiv 1706.03762) or before each sub-layer
// (2002.04745).
enum class NormPlace { post, pre };
template <>
struct EnumNames<NormPlace> {
  static constexpr std::array names{std::pair{NormPlace::post, std::string_view("post")},
                                    std::pair{NormPlace::pre, std::string_view("pre")}};
};

struct BlockConfig {
  std::int64_t width = 512;
  std::int64_t heads = 8;
  std::int64_t feed_forward = 2048;
  ops::Activation activation = ops::Activation::relu;
  double norm_eps = 1e-5;
  double deviation = 0;  // standard deviation of initial weights; 0: Xavier's rule
  double dropout = 0.1;  // on the output of each sub-layer
  double attention_dropout = 0;
  double activation_dropout = 0;
};

// Fused projections are initialised with the variance of Xavier's rule for [3H, H], like PyTorch's in_proj_weight and
// fairseq's gain of 1 / sqrt(2).
inline constexpr double kAttentionGain = 0.70710678118654752;

// The number of attention heads that divides the width into about 64 columns each.
std::int64_t default_heads(std::int64_t width);

// A linear map of a block, initialised according to `config`; see LinearConfig.
Linear linear_of(const BlockConfig& config, std::int64_t in, std::int64_t out, std::int64_t fused = 1, double gain = 1);

// The projections of self-attention, with a fused q | k | v.
class SelfAttentionImpl : public torch::nn::Module {
 public:
  explicit SelfAttentionImpl(const BlockConfig& config);
  Linear in_proj;
  Linear out_proj;
};
TORCH_MODULE(SelfAttention);

// linear2(dropout(act(linear1(x)))) (section 3.3).
torch::Tensor feed_forward(const Linear& linear1, const Linear& linear2, const torch::Tensor& x_MH,
                           const BlockConfig& config, Pass& pass);

// The input of an encoder block. If only some tokens are wanted, their queries attend to all tokens, but only they pass
// through the residual sum, the norms and the feed-forward layer.
struct EncoderInput {
  const torch::Tensor& x_MH;
  const Layout& layout;
  const std::optional<Selection>& wanted;  // empty: all
  std::int64_t layer = 0;                  // index of this application; a shared block is applied several times

  torch::Tensor residual() const { return wanted ? wanted->of(x_MH) : x_MH; }
};

// The sub-layers of an encoder block; subclasses define the order of sums and norms.
class EncoderBlockImpl : public torch::nn::Module {
 public:
  explicit EncoderBlockImpl(const BlockConfig& config);

  // Returns [M, H], or [K, H] for the wanted tokens. In either case the observer sees all attention.
  virtual torch::Tensor forward(const EncoderInput& input, Pass& pass) const = 0;

 protected:
  // Self-attention over `x_MH`, which is the input or its norm.
  torch::Tensor attend(const torch::Tensor& x_MH, const EncoderInput& input, Pass& pass) const;

  BlockConfig config_;
  SelfAttention self_attn_;
  Linear linear1_;
  Linear linear2_;
  LayerNorm norm1_;
  LayerNorm norm2_;
};

class PostNormEncoderBlockImpl : public EncoderBlockImpl {
 public:
  using EncoderBlockImpl::EncoderBlockImpl;
  torch::Tensor forward(const EncoderInput& input, Pass& pass) const override;
};

class PreNormEncoderBlockImpl : public EncoderBlockImpl {
 public:
  using EncoderBlockImpl::EncoderBlockImpl;
  torch::Tensor forward(const EncoderInput& input, Pass& pass) const override;
};

std::shared_ptr<EncoderBlockImpl> make_encoder_block(NormPlace norm, const BlockConfig& config);

// Residual plus the output of a sub-layer, without a norm.
inline torch::Tensor add(const torch::Tensor& x, const torch::Tensor& residual, ops::Dropout dropout) {
  return residual + ops::dropout(x, dropout);
}

// A stack of blocks; with pre-norm, the residual stream is normalised once more after the last block.
template <class Block>
class StackImpl : public torch::nn::Module {
 public:
  // Registers the block as layers.N.
  void push_back(std::shared_ptr<Block> block) {
    layers_->register_module(std::to_string(blocks.size()), block);
    blocks.push_back(std::move(block));
  }
  void add_final_norm(std::int64_t width, double eps) {
    norm_ = register_module("norm", LayerNorm(LayerNormConfig{width, eps}));
  }
  torch::Tensor final_norm(const torch::Tensor& x) const { return norm_ ? norm_->forward(x) : x; }

  std::vector<std::shared_ptr<Block>> blocks;

 private:
  std::shared_ptr<torch::nn::Module> layers_ = register_module("layers", std::make_shared<torch::nn::Module>());
  LayerNorm norm_{nullptr};
};

// The blocks of an encoder: one per layer, or `distinct` blocks used in turn; a single block for all layers is ALBERT's
// parameter sharing (Lan et al. 2019, arXiv 1909.11942, section 3.1).
class EncoderStackImpl : public StackImpl<EncoderBlockImpl> {
 public:
  EncoderStackImpl(std::int64_t layers, std::int64_t distinct, NormPlace norm, const BlockConfig& config);

  // Returns [M, H], or [K, H] for the tokens wanted from the last layer.
  torch::Tensor forward(torch::Tensor x_MH, const Layout& layout, Pass& pass,
                        const std::optional<Selection>& wanted = {}) const;

 private:
  std::int64_t layers_;
};

}  // namespace attend
