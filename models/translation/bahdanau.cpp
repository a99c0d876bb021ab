#include "models/translation/bahdanau.hpp"

#include <ATen/ATen.h>

#include "models/ops/recurrent.hpp"

namespace attend {

using torch::Tensor;

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

}  // namespace attend
