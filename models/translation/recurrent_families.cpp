#include "models/translation/recurrent_families.hpp"

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

namespace {

// The maximum of each pair of neighbours (Goodfellow et al. 2013, arXiv 1302.4389).
Tensor maxout(const Tensor& x_RU) { return x_RU.unflatten(1, {-1, 2}).amax(2); }

}  // namespace

BahdanauImpl::BahdanauImpl(const RecurrentConfig& config, Attention attention)
    : RecurrentSeq2SeqImpl(config, config.encoder_width, config.width + config.memory_width(), std::move(attention)) {
  readout_ = register_module(
      "readout", Linear(LinearConfig{.in = 2 * config.width + config.memory_width(), .out = 2 * config.width}));
}

Tensor BahdanauImpl::bridged(const std::vector<CellState>& last, std::size_t layer, std::size_t part) const {
  const Tensor state = RecurrentSeq2SeqImpl::bridged(last, layer, part);
  return state.narrow(1, state.size(1) - config_.encoder_width, config_.encoder_width);
}

Tensor BahdanauImpl::read_out(const Tensor& query_RH, const Tensor& embedded_RE, const Tensor& context_RW) const {
  return maxout(readout_->forward(at::cat({query_RH, embedded_RE, context_RW}, 1)));
}

// The mechanism: attention, cells, read-out.
Tensor BahdanauImpl::advance(const Tensor& embedded_RE, RecurrentState& state, const StepDropout& dropout,
                             Pass& pass) const {
  const Tensor query_RH = state.layers.back().hidden();
  const Tensor context_RW = attention_->context(query_RH, state.attention, pass);
  Tensor x = at::cat({embedded_RE, dropout(kContext, context_RW)}, 1);
  x = step_cells(x, state, dropout, kLayer);
  return dropout(kReadout, read_out(query_RH, embedded_RE, context_RW));
}

// The read-out is not part of the recurrence and follows the fused op.
Tensor BahdanauImpl::fused(const Tensor& embedded_ME, const Layout& target, const RecurrentMemory& memory,
                           std::span<const DropoutPlace> places) const {
  const auto [attention, unsupported] = attention_->fused_sequence();
  if (!unsupported.empty()) return {};
  ops::BahdanauDecoder decoder{.layers = decoder_->cells(),
                               .attention = attention,
                               .context_dropout = places[kContext].dropout,
                               .layer_dropouts = {}};
  for (const DropoutPlace& place : places.subspan(kLayer)) decoder.layer_dropouts.push_back(place.dropout);
  const auto [query_MH, context_MW] = ops::bahdanau_decoder(decoder, memory.decoder_input(embedded_ME, target));
  return ops::dropout(read_out(query_MH, embedded_ME, context_MW), places[kReadout].dropout);
}

namespace {

// The columns of [e_t; c] and [c; h_t], or of e_t and h_t.
std::int64_t columns_with_context(const RecurrentConfig& config, ContextUse use) {
  return config.width + (use == ContextUse::every ? config.memory_width() : 0);
}

}  // namespace

FixedImpl::FixedImpl(const RecurrentConfig& config, ContextUse use)
    : RecurrentSeq2SeqImpl(config, config.memory_width(), columns_with_context(config, use)),
      use_(use),
      combine_(register_module(
          "combine",
          Linear(LinearConfig{.in = columns_with_context(config, use), .out = config.width, .bias = false}))) {}

void FixedImpl::prepare(const RecurrenceOutput& read, RecurrentMemory& memory) const {
  if (use_ == ContextUse::every) memory.context_BW = bridged(read.last, 0, 0).to(read.output_MC.scalar_type());
}

Tensor FixedImpl::bridged(const std::vector<CellState>& last, std::size_t /*layer*/, std::size_t /*part*/) const {
  return last.back().hidden();
}

Tensor FixedImpl::advance(const Tensor& embedded_RE, RecurrentState& state, const StepDropout& dropout,
                          Pass& /*pass*/) const {
  const bool every = use_ == ContextUse::every;
  Tensor x = every ? at::cat({embedded_RE, state.context_RW}, 1) : embedded_RE;
  x = step_cells(x, state, dropout, kLayer);
  if (every) x = at::cat({state.context_RW, x}, 1);
  return combine_->forward(dropout(kCombine, x), ops::Activation::tanh);
}

// No step reads the output of the previous one, so the layers run over whole sentences.
Tensor FixedImpl::fused(const Tensor& embedded_ME, const Layout& target, const RecurrentMemory& memory,
                        std::span<const DropoutPlace> places) const {
  const bool every = use_ == ContextUse::every;
  Tensor context_MW;
  if (every) context_MW = memory.context_BW.index_select(0, target.on(embedded_ME.device()).sentences_M);
  Tensor x = every ? at::cat({embedded_ME, context_MW}, 1) : embedded_ME;
  for (std::size_t l = 0; l < decoder_->cells().size(); ++l) {
    if (l > 0) x = ops::dropout(x, places[kLayer + l - 1].dropout);
    const std::array directions = {ops::Direction{decoder_->cells()[l], false}};
    x = ops::recurrent_layer({.x_MI = x, .layout = target, .start = &memory.start[l]}, directions).output_MC;
  }
  if (every) x = at::cat({context_MW, x}, 1);
  return combine_->forward(ops::dropout(x, places[kCombine].dropout), ops::Activation::tanh);
}

}  // namespace attend
