#include "models/translation/luong.hpp"

#include <ATen/ATen.h>

#include "models/ops/recurrent.hpp"

namespace attend {

using torch::Tensor;

LuongImpl::LuongImpl(const RecurrentConfig& config, Attention attention, bool input_feeding)
    : RecurrentSeq2SeqImpl(config, config.memory_width(), (input_feeding ? 2 : 1) * config.width, std::move(attention)),
      input_feeding_(input_feeding) {
  combine_ = register_module(
      "combine", Linear(LinearConfig{.in = config.memory_width() + config.width, .out = config.width, .bias = false}));
}

// The mechanism: cells, attention, attentional vector.
Tensor LuongImpl::advance(const Tensor& embedded_RE, RecurrentState& state, const StepDropout& dropout,
                          Pass& pass) const {
  Tensor x = input_feeding_ ? at::cat({embedded_RE, dropout(kFeed, state.output_RH)}, 1) : embedded_RE;
  x = step_cells(x, state, dropout, kLayer);
  const Tensor context_RW = attention_->context(x, state.attention, pass);
  state.output_RH = combine_->forward(dropout(kCombine, at::cat({context_RW, x}, 1)), ops::Activation::tanh);
  return state.output_RH;
}

Tensor LuongImpl::fused(const Tensor& embedded_ME, const Layout& target, const RecurrentMemory& memory,
                        std::span<const DropoutPlace> places) const {
  const auto [attention, unsupported] = attention_->fused_sequence();
  if (!unsupported.empty()) return {};
  ops::LuongDecoder decoder{.layers = decoder_->cells(),
                            .attention = attention,
                            .combine_HC = combine_->weight,
                            .input_feeding = input_feeding_,
                            .feed_dropout = places[kFeed].dropout,
                            .layer_dropouts = {},
                            .combine_dropout = places[kCombine].dropout};
  for (const DropoutPlace& place : places.subspan(kLayer)) decoder.layer_dropouts.push_back(place.dropout);
  return ops::luong_decoder(decoder, memory.decoder_input(embedded_ME, target));
}

}  // namespace attend
