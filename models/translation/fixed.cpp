#include "models/translation/fixed.hpp"

#include <ATen/ATen.h>

#include "models/ops/recurrent.hpp"

namespace attend {

using torch::Tensor;

namespace {

// The columns of [e_t; c] and [c; h_t], or of e_t and h_t.
std::int64_t columns_with_context(const RecurrentConfig& config, ContextUse use) {
  return config.width + (use == ContextUse::every ? config.memory_width() : 0);
}

}  // namespace

FixedImpl::FixedImpl(const RecurrentConfig& config, ContextUse use, StateKind from)
    : RecurrentSeq2SeqImpl(config, config.memory_width(), columns_with_context(config, use)),
      use_(use),
      from_(from),
      combine_(register_module(
          "combine",
          Linear(LinearConfig{.in = columns_with_context(config, use), .out = config.width, .bias = false}))) {}

void FixedImpl::prepare(const RecurrenceOutput& read, RecurrentMemory& memory) const {
  if (use_ == ContextUse::every) memory.context_BW = bridged(read.last, 0, 0).to(read.output_MC.scalar_type());
}

Tensor FixedImpl::bridged(const std::vector<CellState>& last, std::size_t /*layer*/, std::size_t /*part*/) const {
  return last.back().parts[from_ == StateKind::hidden ? 0 : 1];
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
