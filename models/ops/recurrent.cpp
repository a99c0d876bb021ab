#include "models/ops/recurrent.hpp"

#include "core/error.hpp"
#include "models/ops/dispatch.hpp"
#include "models/ops/fast/recurrent.hpp"
#include "models/ops/plain/recurrent.hpp"

namespace attend::ops {

using torch::Tensor;

CellState CellState::select(const Tensor& rows) const {
  CellState chosen;
  for (const Tensor& part : parts) chosen.parts.push_back(part.index_select(0, rows));
  return chosen;
}

CellState CellState::first(std::int64_t count) const {
  CellState kept;
  for (const Tensor& part : parts) kept.parts.push_back(part.narrow(0, 0, count));
  return kept;
}

CellState cell_step(const Tensor& x_RI, const CellState& state, const CellWeights& cell) {
  return has_fast_step(x_RI) ? fast::cell_step(x_RI, state, cell) : plain::cell_step(x_RI, state, cell);
}

LayerOutput recurrent_layer(const LayerInput& input, std::span<const Direction> directions) {
  ensure(input.x_MI.size(0) == input.layout.num_tokens(), "the layout is that of the input");
  ensure(directions.size() == 1 || directions.size() == 2, "a layer has one or two directions");
  return has_fast_sequence(input.x_MI) ? fast::recurrent_layer(input, directions)
                                       : plain::recurrent_layer(input, directions);
}

DotAttention dot_attention(const Tensor& query_RH, const Tensor& keys_SH, const Tensor& values_SW, const Layout& memory,
                           std::span<const std::int64_t> sentences) {
  ensure(query_RH.size(0) == std::ssize(sentences), "there is one sentence per row");
  ensure(keys_SH.size(0) == memory.num_tokens() && values_SW.size(0) == memory.num_tokens(),
         "the layout is that of keys and values");
  ensure(query_RH.scalar_type() == keys_SH.scalar_type() && query_RH.scalar_type() == values_SW.scalar_type(),
         "queries, keys and values have the same type");
  return fast::dot_attention(query_RH, keys_SH, values_SW, memory, sentences);
}

Tensor attention_decoder(const AttentionDecoder& decoder, const AttentionDecoderInput& input) {
  ensure(input.embedded_ME.size(0) == input.layout.num_tokens(), "the layout is that of the input");
  ensure(input.keys_SH.size(0) == input.memory.num_tokens() && input.values_SW.size(0) == input.memory.num_tokens(),
         "the layout is that of keys and values");
  ensure(input.layout.size() == input.memory.size(), "each target sentence has its source sentence");
  ensure(decoder.layers.size() == input.start.size() && decoder.layers.size() == decoder.layer_dropouts.size() + 1,
         "each layer has a start state, and each but the last a dropout");
  return fast::attention_decoder(decoder, input);
}

}  // namespace attend::ops
