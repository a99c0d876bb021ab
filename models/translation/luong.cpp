#include "models/translation/luong.hpp"

#include <ATen/ATen.h>

#include "models/ops/dispatch.hpp"
#include "models/ops/padded.hpp"

namespace attend {

using torch::Tensor;

namespace {

// The places of dropout: on h~_{t-1}, on [c_t; h_t], and between layers l and l + 1.
constexpr std::size_t kFeed = 0, kCombine = 1, kLayer = 2;

}  // namespace

LuongImpl::LuongImpl(const RecurrentConfig& config, Attention attention, bool input_feeding)
    : RecurrentSeq2SeqImpl(config), attention_(std::move(attention)), input_feeding_(input_feeding) {
  register_module("attention", attention_.score);
  decoder_ = register_module("decoder", Recurrence(RecurrenceConfig{.cell = config.cell,
                                                                    .input = (input_feeding ? 2 : 1) * config.width,
                                                                    .hidden = config.width,
                                                                    .layers = config.decoder_layers}));
  combine_ = register_module(
      "combine", Linear(LinearConfig{.in = config.memory_width() + config.width, .out = config.width, .bias = false}));
}

Keys LuongImpl::prepare(const Tensor& memory_SW, const Layout& layout) const {
  return {.keys_SA = attention_.score->prepare(memory_SW), .values_SW = memory_SW, .layout = layout};
}

// The mechanism: cells, attention, attentional vector.
Tensor LuongImpl::advance(const Tensor& embedded_RE, RecurrentState& state, const StepDropout& dropout,
                          Pass& pass) const {
  Tensor x = input_feeding_ ? at::cat({embedded_RE, dropout(kFeed, state.output_RH)}, 1) : embedded_RE;
  for (std::size_t l = 0; l < state.layers.size(); ++l) {
    if (l > 0) x = dropout(kLayer + l - 1, x);
    state.layers[l] = decoder_->cells()[l]->step(x, state.layers[l]);
    x = state.layers[l].hidden();
  }
  const Tensor context_RW = attend(x, state, pass);
  state.output_RH = combine_->forward(dropout(kCombine, at::cat({context_RW, x}, 1)), ops::Activation::tanh);
  ++state.step;
  return state.output_RH;
}

Tensor LuongImpl::attend(const Tensor& query_RH, RecurrentState& state, Pass& pass) const {
  const MemoryRows& memory = state.memory;
  if (attention_.has_fused_form() && ops::may_fuse_steps(query_RH) && pass.observer() == nullptr) {
    const Keys& keys = memory.keys();  // the same as below, over the ragged memory
    return ops::dot_attention(query_RH, keys.keys_SA, keys.values_SW, keys.layout, memory.sentences()).context_RW;
  }
  const Tensor energies_RS = attention_.score->energies(query_RH, memory.keys_RSA());
  const auto [outside_RS, factor_RS] = attention_.scope->window(query_RH, memory, state.step);
  state.weights_RS = ops::masked_softmax(energies_RS, outside_RS);
  if (factor_RS.defined()) state.weights_RS = state.weights_RS * factor_RS;
  return attention_.choice->context(state.weights_RS, memory.values_RSW(), pass).to(query_RH.scalar_type());
}

std::vector<DropoutPlace> LuongImpl::dropout_places(Pass& pass) const {
  const std::int64_t width = config_.width;
  std::vector<DropoutPlace> places = {{pass.dropout(config_.dropout), width},
                                      {pass.dropout(config_.dropout), config_.memory_width() + width}};
  for (std::int64_t l = 1; l < config_.decoder_layers; ++l) places.push_back({pass.dropout(config_.dropout), width});
  return places;
}

Tensor LuongImpl::fused(const Tensor& embedded_ME, const Layout& target, const RecurrentMemory& memory,
                        std::span<const DropoutPlace> places) const {
  if (!attention_.has_fused_form() || config_.cell != CellKind::lstm) return {};
  std::vector<ops::LstmCell> cells;
  for (const auto& cell : decoder_->cells()) cells.push_back(static_cast<const LstmCell&>(*cell).weights());
  std::vector<ops::LstmState> start;
  for (const CellState& state : memory.start) start.push_back({state.parts[0], state.parts[1]});
  ops::AttentionDecoder decoder{.layers = cells,
                                .combine_HC = combine_->weight,
                                .input_feeding = input_feeding_,
                                .feed_dropout = places[kFeed].dropout,
                                .layer_dropouts = {},
                                .combine_dropout = places[kCombine].dropout};
  for (const DropoutPlace& place : places.subspan(kLayer)) decoder.layer_dropouts.push_back(place.dropout);
  return ops::attention_decoder(decoder, {.embedded_ME = embedded_ME,
                                          .layout = target,
                                          .keys_SH = memory.keys.keys_SA,
                                          .values_SW = memory.keys.values_SW,
                                          .memory = memory.layout,
                                          .start = start});
}

}  // namespace attend
