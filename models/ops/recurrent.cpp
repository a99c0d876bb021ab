#include "models/ops/recurrent.hpp"

#include <ATen/ATen.h>

#include "core/error.hpp"
#include "models/ops/dispatch.hpp"
#include "models/ops/recurrent_plain.hpp"

namespace attend::ops {

using torch::Tensor;

LstmState lstm_step(const Tensor& x_RI, const LstmState& state, const LstmCell& cell) {
  return plain::lstm_step(x_RI, state, cell);
}

LstmOutput lstm(const Tensor& x_MI, const Layout& layout, std::span<const LstmCell> directions) {
  ensure(directions.size() == 1 || directions.size() == 2, "an LSTM layer has one or two directions");
  return plain::lstm(x_MI, layout, directions);
}

DotAttention dot_attention(const Tensor& query_RH, const Tensor& keys_SH, const Tensor& values_SV, const Layout& memory,
                           std::span<const std::int64_t> sentences) {
  return plain::dot_attention(query_RH, keys_SH, values_SV, memory, sentences);
}

Tensor attention_decoder(const AttentionDecoder& decoder, const AttentionDecoderInput& input) {
  ensure(input.layout.size() == input.memory.size(), "each target sentence has its source sentence");
  ensure(decoder.layers.size() == input.start.size() && decoder.layers.size() == decoder.layer_dropouts.size() + 1,
         "each layer has a start, and each but the last a dropout");
  return plain::attention_decoder(decoder, input);
}

}  // namespace attend::ops
