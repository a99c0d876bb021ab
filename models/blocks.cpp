#include "models/blocks.hpp"

#include <algorithm>

namespace attend {

using torch::Tensor;

std::int64_t default_heads(std::int64_t width) {
  std::int64_t heads = std::max<std::int64_t>(1, width / 64);
  while (width % heads != 0) --heads;
  return heads;
}

Linear linear_of(const BlockConfig& config, std::int64_t in, std::int64_t out, std::int64_t fused, double gain) {
  return Linear(LinearConfig{.in = in, .out = out, .fused = fused, .gain = gain, .deviation = config.deviation});
}

SelfAttentionImpl::SelfAttentionImpl(const BlockConfig& config)
    : in_proj(register_module("in_proj", linear_of(config, config.width, 3 * config.width, 3, kAttentionGain))),
      out_proj(register_module("out_proj", linear_of(config, config.width, config.width))) {}

EncoderBlockImpl::EncoderBlockImpl(const BlockConfig& config)
    : config_(config),
      self_attn_(register_module("self_attn", SelfAttention(config))),
      linear1_(register_module("linear1", linear_of(config, config.width, config.feed_forward))),
      linear2_(register_module("linear2", linear_of(config, config.feed_forward, config.width))),
      norm1_(register_module("norm1", LayerNorm(LayerNormConfig{config.width, config.norm_eps}))),
      norm2_(register_module("norm2", LayerNorm(LayerNormConfig{config.width, config.norm_eps}))) {}

Tensor EncoderBlockImpl::attend(const Tensor& x_MH, const Layout& layout, Context& context) const {
  return self_attn_->out_proj->forward(ops::self_attention(self_attn_->in_proj->forward(x_MH), layout,
                                                           {.heads = config_.heads, .causal = false},
                                                           context.dropout(config_.attention_dropout)));
}

Tensor feed_forward(const Linear& linear1, const Linear& linear2, const Tensor& x_MH, const BlockConfig& config,
                    Context& context) {
  return linear2->forward(linear1->forward(x_MH, config.activation, context.dropout(config.activation_dropout)));
}

Tensor PostNormEncoderBlockImpl::forward(const Tensor& x_MH, const Layout& layout, Context& context) const {
  const Tensor attended = attend(x_MH, layout, context);
  const Tensor middle = norm1_->forward(attended, x_MH, context.dropout(config_.dropout)).norm;
  const Tensor fed = feed_forward(linear1_, linear2_, middle, config_, context);
  return norm2_->forward(fed, middle, context.dropout(config_.dropout)).norm;
}

Tensor PreNormEncoderBlockImpl::forward(const Tensor& x_MH, const Layout& layout, Context& context) const {
  const Tensor attended = attend(norm1_->forward(x_MH), layout, context);
  const ops::AddNorm middle = norm2_->forward(attended, x_MH, context.dropout(config_.dropout));
  const Tensor fed = feed_forward(linear1_, linear2_, middle.norm, config_, context);
  return add(fed, middle.sum, context.dropout(config_.dropout));
}

std::shared_ptr<EncoderBlockImpl> make_encoder_block(NormPlace norm, const BlockConfig& config) {
  if (norm == NormPlace::post) return std::make_shared<PostNormEncoderBlockImpl>(config);
  return std::make_shared<PreNormEncoderBlockImpl>(config);
}

EncoderStackImpl::EncoderStackImpl(std::int64_t layers, NormPlace norm, const BlockConfig& config) {
  for (std::int64_t i = 0; i < layers; ++i) push_back(make_encoder_block(norm, config));
  if (norm == NormPlace::pre) add_final_norm(config.width, config.norm_eps);
}

Tensor EncoderStackImpl::forward(Tensor x_MH, const Layout& layout, Context& context) const {
  for (const auto& block : blocks) x_MH = block->forward(x_MH, layout, context);
  return final_norm(x_MH);
}

SharedEncoderStackImpl::SharedEncoderStackImpl(std::int64_t layers, NormPlace norm, const BlockConfig& config)
    : EncoderStackImpl(1, norm, config), layers_(layers) {}

Tensor SharedEncoderStackImpl::forward(Tensor x_MH, const Layout& layout, Context& context) const {
  for (std::int64_t i = 0; i < layers_; ++i) x_MH = blocks[0]->forward(x_MH, layout, context);
  return final_norm(x_MH);
}

}  // namespace attend
