#include "models/transformer/block.hpp"

#include <string>

#include "core/error.hpp"

namespace attend {

using torch::Tensor;

namespace {

AttentionShape shape_of(const StackOptions& options, const StackForm& form, AttentionPlace place, std::int64_t layer) {
  return {.place = place,
          .width = *options.width,
          .heads = *options.block.heads,
          .kept = options.block.kept(place, layer),
          .longest = options.max_positions,
          .score_deviation = options.score_deviation(),
          .deviation = options.deviation(),
          .output_scale = form.branch_scale,
          .gates = form.head_gates,
          .hybrid = form.kind == StackKind::hybrid};
}

}  // namespace

TransformerBlockImpl::TransformerBlockImpl(const StackOptions& options, const StackForm& form, std::int64_t layer)
    : options_(options),
      fourier_(recipe_of(options.block.self_attention).has_weights()
                   ? std::nullopt
                   : std::optional<Fourier>(std::in_place, *this, *options.width)),
      place_(place_of(form.kind)) {
  const auto attention = [&](const char* name, AttentionPlace place) {
    return register_module(name, MultiHeadAttention(options.block, shape_of(options, form, place, layer)));
  };
  if (!fourier_) self_attn_ = attention("self_attn", place_);
  if (form.kind == StackKind::decoder) multihead_attn_ = attention("multihead_attn", AttentionPlace::cross);
  feed_forward_ = FeedForward(*this, options, form.branch_scale);
  const auto add = [&](std::string_view part, auto forward) {
    sub_layers_.push_back({part, forward, nullptr});
    if (options.block.norm == NormPlace::none) return;
    const std::string name = "norm" + std::to_string(sub_layers_.size());
    sub_layers_.back().norm = register_module(name, make_norm(options.block.norm_kind, *options.width, form.norm_eps));
  };
  add("self_attention",
      [this](const Tensor& x, const BlockInput& input, Pass& pass) { return attend_within(x, input, pass); });
  if (multihead_attn_) {
    add("cross_attention",
        [this](const Tensor& x, const BlockInput& input, Pass& pass) { return attend_to_memory(x, input, pass); });
  }
  if (!feed_forward_) return;
  add("feed_forward",
      [this](const Tensor& x, const BlockInput& /*input*/, Pass& pass) { return feed_forward_.forward(x, pass); });
}

Tensor TransformerBlockImpl::attend_within(const Tensor& x_MH, const BlockInput& input, Pass& pass) const {
  const StackInput& stack = input.stack;
  ensure(stack.streams == nullptr || !fourier_, "an order needs attention");
  if (fourier_) return fourier_->within(x_MH, input.layout, input.selected);
  if (stack.cache != nullptr) return self_attn_->step_within(x_MH, *stack.cache, input.layer, pass);
  return self_attn_->within(x_MH, input.layout, input.selected, input.layer, pass, stack.streams, stack.both_sides);
}

Tensor TransformerBlockImpl::attend_to_memory(const Tensor& x_MH, const BlockInput& input, Pass& pass) const {
  const StackInput& stack = input.stack;
  if (stack.cache == nullptr) return multihead_attn_->to_memory(x_MH, input.layout, *stack.memory, input.layer, pass);
  return multihead_attn_->step_to_memory(x_MH, stack.sentences, stack.cache->steps() - 1, *stack.memory, input.layer,
                                         pass);
}

ops::AddNorm TransformerBlockImpl::add(const Tensor& y_MH, const Tensor& x_MH, const Norm& norm, Pass& pass) const {
  const ops::Dropout dropout = pass.dropout(options_.dropout);
  if (options_.block.residual && norm) return norm->forward(y_MH, x_MH, dropout, pass);
  const Tensor dropped_MH = ops::dropout(y_MH, dropout);
  const Tensor sum_MH = options_.block.residual ? x_MH + dropped_MH : dropped_MH;
  return {.sum = sum_MH, .norm = norm ? norm->forward(sum_MH, pass) : sum_MH};
}

// With pre-norm, the sum after a sub-layer and the norm before the next sub-layer are one op.
Tensor TransformerBlockImpl::forward(Tensor x_MH, const BlockInput& input, Pass& pass) const {
  const bool pre = options_.block.norm == NormPlace::pre;
  Tensor read_MH = pre ? sub_layers_.front().norm->forward(x_MH, pass) : x_MH;
  for (std::size_t i = 0; i < sub_layers_.size(); ++i) {
    const Tensor y_MH = sub_layers_[i].forward(read_MH, input, pass);
    if (i == 0 && input.selected != nullptr) x_MH = input.selected->of(x_MH);
    if (pass.observer() != nullptr) {
      pass.observer()->on_sub_layer(place_, input.layer, sub_layers_[i].name, x_MH, y_MH);
    }
    const std::size_t of_norm = pre ? i + 1 : i;
    const ops::AddNorm next = add(y_MH, x_MH, of_norm < sub_layers_.size() ? sub_layers_[of_norm].norm : nullptr, pass);
    x_MH = pre ? next.sum : next.norm;
    read_MH = next.norm;
  }
  return x_MH;
}

StackImpl::StackImpl(const StackOptions& options, const StackForm& form)
    : layers_(*options.layers), place_(place_of(form.kind)) {
  const auto list = register_module("layers", std::make_shared<torch::nn::Module>());
  for (std::int64_t i = 0; i < (options.share_layers ? 1 : layers_); ++i) {
    blocks_.push_back(list->register_module(std::to_string(i), TransformerBlock(options, form, i)));
  }
  if (options.block.norm == NormPlace::pre) {
    norm_ = register_module("norm", make_norm(options.block.norm_kind, *options.width, form.norm_eps));
  }
}

Tensor StackImpl::forward(Tensor x_MH, const StackInput& input, Pass& pass) const {
  Observer* const observer = pass.observer();
  if (observer != nullptr) observer->on_hidden(place_, 0, x_MH);
  std::optional<JoinedSentences> continued;  // earlier tokens, and those of x
  if (input.earlier != nullptr) {
    ensure(input.selected == nullptr && input.cache == nullptr, "earlier tokens stand before whole sentences");
    continued.emplace(input.earlier->layout, input.layout, x_MH.device());
  }
  const Layout& layout = continued ? continued->layout : input.layout;
  for (std::int64_t i = 0; i < layers_; ++i) {
    const bool last = i + 1 == layers_;
    const Selection* selected = last ? input.selected : nullptr;
    if (continued) {
      Tensor& earlier_MH = input.earlier->hidden_MH[i];
      x_MH = continued->joined(earlier_MH, x_MH);
      earlier_MH = x_MH.detach();
      selected = &continued->second;
    }
    x_MH = blocks_[i % blocks_.size()]->forward(
        x_MH, {.stack = input, .layout = layout, .layer = i, .selected = selected}, pass);
    if (last && norm_) x_MH = norm_->forward(x_MH, pass);
    if (observer != nullptr) observer->on_hidden(place_, i + 1, x_MH);
  }
  if (continued) input.earlier->layout = continued->layout;
  return x_MH;
}

DecoderMemory StackImpl::memory(const Tensor& encoded_MH, const Layout& layout) const {
  DecoderMemory memory{.kv_MC = {}, .layout = layout};
  for (const TransformerBlock& block : blocks_) memory.kv_MC.push_back(block->keys_values(encoded_MH));
  return memory;
}

}  // namespace attend
