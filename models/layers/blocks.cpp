#include "models/layers/blocks.hpp"

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

Tensor EncoderBlockImpl::attend(const Tensor& x_MH, const EncoderInput& input, Pass& pass) const {
  const Linear &in_proj = self_attn_->in_proj, &out_proj = self_attn_->out_proj;
  const Layout& layout = input.layout;
  const std::optional<Selection>& wanted = input.wanted;
  const ops::AttentionShape shape{.heads = config_.heads, .causal = false};
  const ops::Dropout dropout = pass.dropout(config_.attention_dropout);
  Tensor qkv_MC;
  if (!wanted || pass.observer() != nullptr) qkv_MC = in_proj->forward(x_MH);
  if (Observer* observer = pass.observer()) {
    const auto qkv = qkv_MC.chunk(3, 1);
    observer->see_attention(AttentionPlace::encoder, input.layer,
                            ops::attention_weights(qkv[0], qkv[1], layout, layout, shape));
  }
  if (!wanted) return out_proj->forward(ops::self_attention(qkv_MC, layout, shape, dropout));
  const auto part = [&](const Tensor& x, std::int64_t first, std::int64_t count) {
    return ops::linear(x, in_proj->weight.rows(first, count), in_proj->bias.narrow(0, first, count));
  };
  const std::int64_t H = config_.width;
  const Tensor q_KH = part(wanted->of(x_MH), 0, H), kv = part(x_MH, H, 2 * H);
  return out_proj->forward(ops::cross_attention(q_KH, kv, wanted->layout, layout, shape, dropout));
}

Tensor feed_forward(const Linear& linear1, const Linear& linear2, const Tensor& x_MH, const BlockConfig& config,
                    Pass& pass) {
  return ops::feed_forward(x_MH, {linear1->weight, linear1->bias}, config.activation,
                           pass.dropout(config.activation_dropout), {linear2->weight, linear2->bias});
}

Tensor PostNormEncoderBlockImpl::forward(const EncoderInput& input, Pass& pass) const {
  const Tensor attended = attend(input.x_MH, input, pass);
  const Tensor middle = norm1_->forward(attended, input.residual(), pass.dropout(config_.dropout)).norm;
  const Tensor fed = feed_forward(linear1_, linear2_, middle, config_, pass);
  return norm2_->forward(fed, middle, pass.dropout(config_.dropout)).norm;
}

Tensor PreNormEncoderBlockImpl::forward(const EncoderInput& input, Pass& pass) const {
  const Tensor attended = attend(norm1_->forward(input.x_MH), input, pass);
  const ops::AddNorm middle = norm2_->forward(attended, input.residual(), pass.dropout(config_.dropout));
  const Tensor fed = feed_forward(linear1_, linear2_, middle.norm, config_, pass);
  return add(fed, middle.sum, pass.dropout(config_.dropout));
}

std::shared_ptr<EncoderBlockImpl> make_encoder_block(NormPlace norm, const BlockConfig& config) {
  if (norm == NormPlace::post) return std::make_shared<PostNormEncoderBlockImpl>(config);
  return std::make_shared<PreNormEncoderBlockImpl>(config);
}

EncoderStackImpl::EncoderStackImpl(std::int64_t layers, std::int64_t distinct, NormPlace norm,
                                   const BlockConfig& config)
    : layers_(layers) {
  for (std::int64_t i = 0; i < distinct; ++i) push_back(make_encoder_block(norm, config));
  if (norm == NormPlace::pre) add_final_norm(config.width, config.norm_eps);
}

Tensor EncoderStackImpl::forward(Tensor x_MH, const Layout& layout, Pass& pass,
                                 const std::optional<Selection>& wanted) const {
  const std::optional<Selection> all;
  for (std::int64_t i = 0; i < layers_; ++i) {
    const EncoderBlockImpl& block = *blocks[i % blocks.size()];
    const std::optional<Selection>& of_this = i + 1 == layers_ ? wanted : all;
    x_MH = block.forward({.x_MH = x_MH, .layout = layout, .wanted = of_this, .layer = i}, pass);
  }
  return final_norm(x_MH);
}

}  // namespace attend
