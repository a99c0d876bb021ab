#include "models/translation/transformer.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <numeric>
#include <string>

#include "core/error.hpp"
#include "models/layers/cut_weights.hpp"
#include "models/ops/decode.hpp"

namespace attend {

using torch::Tensor;

namespace {

// Number of cached rows of sinusoids; a longer sentence computes its own.
constexpr std::int64_t kKeptPositions = 1024;

// The encoder's output as the keys and values of each decoder block, k | v, [M, 2H].
struct TransformerMemory : Memory {
  std::vector<Tensor> kv_MC;
};

// The cached keys and values of R hypotheses. Nothing is copied when hypotheses split: see ops::Ancestry.
struct TransformerState : DecoderState {
  std::vector<std::int64_t> sentences;  // the sentence of the memory that each row reads
  std::vector<std::vector<Tensor>> kv;  // [layer][step]: k | v, [R_t, 2H]
  ops::Ancestry ancestry;               // [step][row]

  std::int64_t num_rows() const { return static_cast<std::int64_t>(sentences.size()); }

  void select(std::span<const std::int64_t> rows) override {
    std::vector<std::int64_t> chosen(rows.size());
    const auto choose = [&](std::vector<std::int64_t>& values) {
      for (std::size_t r = 0; r < rows.size(); ++r) chosen[r] = values[rows[r]];
      values = chosen;
    };
    choose(sentences);
    for (std::size_t t = 0; t < ancestry.size(); ++t) {
      choose(ancestry[t]);
      drop_unread(t);
    }
  }

 private:
  // Drops the rows of a step without living descendants once they are half of it.
  void drop_unread(std::size_t step) {
    std::vector<std::int64_t> place(kv.front()[step].size(0), -1);
    for (const std::int64_t row : ancestry[step]) place[row] = 0;
    std::vector<std::int64_t> read;
    for (std::size_t row = 0; row < place.size(); ++row) {
      if (place[row] < 0) continue;
      place[row] = std::ssize(read);
      read.push_back(static_cast<std::int64_t>(row));
    }
    if (2 * read.size() > place.size()) return;
    for (std::int64_t& row : ancestry[step]) row = place[row];
    const Tensor index = at::tensor(read, at::kLong).to(kv.front()[step].device());
    for (std::vector<Tensor>& layer : kv) layer[step] = layer[step].index_select(0, index);
  }
};

// The inputs of cross-attention: queries q [M, H], laid out by `queries`, and k | v, [M, 2H].
struct CrossInput {
  Tensor q_MH;
  const Layout& queries;
  Tensor kv_MC;
  const Layout& keys;
};

Tensor cross_weights(const CrossInput& input, std::int64_t heads, double threshold) {
  const Tensor k_MH = input.kv_MC.chunk(2, 1)[0];
  const ops::AttentionShape shape{.heads = heads, .causal = false};
  return cut_weights(ops::attention_weights(input.q_MH, k_MH, input.queries, input.keys, shape), threshold);
}

// Cross-attention with the given weights, softmax(q kᵀ / √D) after cut_weights, times v; there is no op for it.
Tensor weighted_values(const Tensor& weights_BNTS, const CrossInput& input) {
  const Tensor v_MH = input.kv_MC.chunk(2, 1)[1].to(at::kFloat);
  const Tensor v_BNSD = ops::pad(v_MH, input.keys).unflatten(2, {weights_BNTS.size(1), -1}).transpose(1, 2);
  const Tensor context_BTH = at::matmul(weights_BNTS, v_BNSD).transpose(1, 2).flatten(2);
  return ops::unpad(context_BTH, input.queries).to(input.q_MH.scalar_type());
}

// Teacher forcing: every position of every sentence at once, future positions hidden by the causal mask.
class TeacherForcedAttention final : public DecoderAttention {
 public:
  TeacherForcedAttention(const TransformerConfig& config, const TransformerMemory& memory, const Layout& target,
                         Pass& pass)
      : config_(config), memory_(memory), target_(target), pass_(pass) {}

  Tensor self(std::int64_t layer, const Tensor& qkv_MC) override {
    const ops::AttentionShape shape{.heads = config_.block.heads, .causal = true};
    if (Observer* observer = pass_.observer()) {
      const auto qkv = qkv_MC.chunk(3, 1);
      observer->see_attention(AttentionPlace::decoder, layer,
                              ops::attention_weights(qkv[0], qkv[1], target_, target_, shape));
    }
    return ops::self_attention(qkv_MC, target_, shape, pass_.dropout(config_.block.attention_dropout));
  }
  Tensor cross(std::int64_t layer, const Tensor& q_MH) override {
    const ops::AttentionShape shape{.heads = config_.block.heads, .causal = false};
    const Tensor& kv_MC = memory_.kv_MC[layer];
    if (pass_.needs_weights()) {
      const CrossInput input{.q_MH = q_MH, .queries = target_, .kv_MC = kv_MC, .keys = memory_.layout};
      const Tensor weights_BNTS = cross_weights(input, shape.heads, pass_.attention_threshold());
      if (Observer* observer = pass_.observer()) observer->see_attention(AttentionPlace::cross, layer, weights_BNTS);
      if (pass_.attention_threshold() > 0) return weighted_values(weights_BNTS, input);
    }
    return ops::cross_attention(q_MH, kv_MC, target_, memory_.layout, shape,
                                pass_.dropout(config_.block.attention_dropout));
  }

 private:
  const TransformerConfig& config_;
  const TransformerMemory& memory_;
  const Layout& target_;
  Pass& pass_;
};

// A single step: the newest position of every hypothesis attends to its cached prefix.
class CachedAttention final : public DecoderAttention {
 public:
  CachedAttention(const TransformerConfig& config, const TransformerMemory& memory, TransformerState& state,
                  const Pass& pass)
      : config_(config), memory_(memory), state_(state), pass_(pass) {}

  Tensor self(std::int64_t layer, const Tensor& qkv_RC) override {
    const std::int64_t width = config_.block.width;
    std::vector<Tensor>& kv = state_.kv[layer];
    kv.push_back(qkv_RC.narrow(1, width, 2 * width).contiguous());
    return ops::decode_self_attention(qkv_RC.narrow(1, 0, width), kv, state_.ancestry, config_.block.heads);
  }
  Tensor cross(std::int64_t layer, const Tensor& q_RH) override {
    if (pass_.attention_threshold() > 0) return cut_cross(memory_.kv_MC[layer], q_RH);
    return ops::decode_cross_attention(q_RH, memory_.kv_MC[layer], memory_.layout, state_.sentences,
                                       config_.block.heads);
  }

 private:
  // Treats every row as a sentence with one query, over a copy of its source sentence.
  Tensor cut_cross(const Tensor& kv_MC, const Tensor& q_RH) const {
    Layout queries, keys;
    std::vector<Tensor> read;
    for (const std::int64_t sentence : state_.sentences) {
      const std::int64_t length = memory_.layout.length(sentence);
      queries.append(1);
      keys.append(length);
      read.push_back(kv_MC.narrow(0, memory_.layout.offsets[sentence], length));
    }
    const CrossInput input{.q_MH = q_RH, .queries = queries, .kv_MC = at::cat(read), .keys = keys};
    return weighted_values(cross_weights(input, config_.block.heads, pass_.attention_threshold()), input);
  }

  const TransformerConfig& config_;
  const TransformerMemory& memory_;
  TransformerState& state_;
  const Pass& pass_;
};

}  // namespace

CrossAttentionImpl::CrossAttentionImpl(const BlockConfig& config)
    : q_proj(register_module("q_proj", linear_of(config, config.width, config.width, 1, kAttentionGain))),
      kv_proj(register_module("kv_proj", linear_of(config, config.width, 2 * config.width, 2, kAttentionGain))),
      out_proj(register_module("out_proj", linear_of(config, config.width, config.width))) {}

// ---- Decoder

DecoderBlockImpl::DecoderBlockImpl(const BlockConfig& config, std::int64_t layer)
    : config_(config),
      layer_(layer),
      self_attn_(register_module("self_attn", SelfAttention(config))),
      multihead_attn_(register_module("multihead_attn", CrossAttention(config))),
      linear1_(register_module("linear1", linear_of(config, config.width, config.feed_forward))),
      linear2_(register_module("linear2", linear_of(config, config.feed_forward, config.width))),
      norm1_(register_module("norm1", LayerNorm(LayerNormConfig{config.width, config.norm_eps}))),
      norm2_(register_module("norm2", LayerNorm(LayerNormConfig{config.width, config.norm_eps}))),
      norm3_(register_module("norm3", LayerNorm(LayerNormConfig{config.width, config.norm_eps}))) {}

Tensor DecoderBlockImpl::attend_self(const Tensor& x_MH, DecoderAttention& attention) const {
  return self_attn_->out_proj->forward(attention.self(layer_, self_attn_->in_proj->forward(x_MH)));
}

Tensor DecoderBlockImpl::attend_cross(const Tensor& x_MH, DecoderAttention& attention) const {
  return multihead_attn_->out_proj->forward(attention.cross(layer_, multihead_attn_->q_proj->forward(x_MH)));
}

Tensor PostNormDecoderBlockImpl::forward(const Tensor& x_MH, DecoderAttention& attention, Pass& pass) const {
  const Tensor read = attend_self(x_MH, attention);
  const Tensor x1 = norm1_->forward(read, x_MH, pass.dropout(config_.dropout)).norm;
  const Tensor seen = attend_cross(x1, attention);
  const Tensor x2 = norm2_->forward(seen, x1, pass.dropout(config_.dropout)).norm;
  const Tensor fed = feed_forward(linear1_, linear2_, x2, config_, pass);
  return norm3_->forward(fed, x2, pass.dropout(config_.dropout)).norm;
}

Tensor PreNormDecoderBlockImpl::forward(const Tensor& x_MH, DecoderAttention& attention, Pass& pass) const {
  const Tensor read = attend_self(norm1_->forward(x_MH), attention);
  const ops::AddNorm x1 = norm2_->forward(read, x_MH, pass.dropout(config_.dropout));
  const Tensor seen = attend_cross(x1.norm, attention);
  const ops::AddNorm x2 = norm3_->forward(seen, x1.sum, pass.dropout(config_.dropout));
  const Tensor fed = feed_forward(linear1_, linear2_, x2.norm, config_, pass);
  return add(fed, x2.sum, pass.dropout(config_.dropout));
}

std::shared_ptr<DecoderBlockImpl> make_decoder_block(NormPlace norm, const BlockConfig& config, std::int64_t layer) {
  if (norm == NormPlace::post) return std::make_shared<PostNormDecoderBlockImpl>(config, layer);
  return std::make_shared<PreNormDecoderBlockImpl>(config, layer);
}

// ---- The model

TransformerImpl::TransformerImpl(const TransformerConfig& config)
    : config_(config),
      tgt_embedding_(register_module("tgt_embedding", Embedding(EmbeddingConfig{.vocabulary = config.tgt_vocabulary,
                                                                                .width = config.block.width,
                                                                                .deviation = config.block.deviation}))),
      src_embedding_(config.tie_embeddings ? tgt_embedding_
                                           : register_module("src_embedding", Embedding(EmbeddingConfig{
                                                                                  .vocabulary = config.src_vocabulary,
                                                                                  .width = config.block.width,
                                                                                  .deviation = config.block.deviation,
                                                                              }))),
      encoder_(register_module(
          "encoder",
          std::make_shared<EncoderStackImpl>(config.encoder_layers, config.encoder_layers, config.norm, config.block))),
      decoder_(register_module("decoder", std::make_shared<StackImpl<DecoderBlockImpl>>())),
      positions_TH_(register_buffer("positions", sinusoids(0, kKeptPositions, config.block.width))) {
  for (std::int64_t i = 0; i < config.decoder_layers; ++i) {
    decoder_->push_back(make_decoder_block(config.norm, config.block, i));
  }
  if (config.norm == NormPlace::pre) decoder_->add_final_norm(config.block.width, config.block.norm_eps);
}

Tensor TransformerImpl::positions(std::int64_t first, std::int64_t length) const {
  if (first + length <= kKeptPositions) return positions_TH_.narrow(0, first, length);
  return sinusoids(first, length, config_.block.width).to(positions_TH_.device());
}

Tensor TransformerImpl::embed(const Embedding& table, const Sequences& tokens, const Tensor& positions_TH,
                              Pass& pass) const {
  return table->forward(tokens, std::sqrt(static_cast<double>(config_.block.width)), positions_TH,
                        pass.dropout(config_.block.dropout));
}

std::shared_ptr<const Memory> TransformerImpl::encode(const Sequences& src, Pass& pass) const {
  Tensor x_MH = embed(src_embedding_, src, positions(0, src.layout.max_length), pass);
  if (pass.observer() != nullptr) pass.observer()->see_source(x_MH);
  x_MH = encoder_->forward(x_MH, src.layout, pass);
  auto memory = std::make_shared<TransformerMemory>();
  memory->layout = src.layout;
  for (const auto& block : decoder_->blocks) memory->kv_MC.push_back(block->project_memory(x_MH));
  return memory;
}

Tensor TransformerImpl::decode(Tensor x_MH, DecoderAttention& attention, Pass& pass) const {
  for (const auto& block : decoder_->blocks) x_MH = block->forward(x_MH, attention, pass);
  return decoder_->final_norm(x_MH);
}

std::unique_ptr<DecoderState> TransformerImpl::start(const Memory& /*memory*/,
                                                     std::span<const std::int64_t> sentences) const {
  auto state = std::make_unique<TransformerState>();
  state->sentences.assign(sentences.begin(), sentences.end());
  state->kv.resize(config_.decoder_layers);
  return state;
}

Tensor TransformerImpl::step(const Memory& memory, DecoderState& state, const Tensor& previous_R, Pass& pass) const {
  auto& rows = own<TransformerState>(state);
  const auto step = static_cast<std::int64_t>(rows.ancestry.size());
  ensure(previous_R.size(0) == rows.num_rows(), "one previous token for every row");

  // For the embedding, every row is a sentence of one token at position `step`.
  Sequences tokens{.ids_M = previous_R, .layout = {}};
  tokens.layout.offsets.resize(rows.num_rows() + 1);
  std::iota(tokens.layout.offsets.begin(), tokens.layout.offsets.end(), 0);
  tokens.layout.max_length = 1;
  const Tensor x_RH = embed(tgt_embedding_, tokens, positions(step, 1), pass);

  rows.ancestry.emplace_back(tokens.layout.offsets.begin(), tokens.layout.offsets.end() - 1);
  CachedAttention attention(config_, own<TransformerMemory>(memory), rows, pass);
  const Tensor hidden_RH = decode(x_RH, attention, pass);
  return ops::logits(hidden_RH, output_table(), {});
}

Tensor TransformerImpl::forward(const Batch& batch, Pass& pass) const {
  const auto memory = encode(batch.src, pass);
  const Tensor x_MH = embed(tgt_embedding_, batch.tgt, positions(0, batch.tgt.layout.max_length), pass);
  TeacherForcedAttention attention(config_, own<TransformerMemory>(*memory), batch.tgt.layout, pass);
  return decode(x_MH, attention, pass);
}

}  // namespace attend
