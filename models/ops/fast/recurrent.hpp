// The fast paths of recurrent.hpp on a CPU, for the types allowed by dispatch.hpp. Values and gradients equal those of
// the plain formulations.
#pragma once

#include "models/ops/recurrent.hpp"

namespace attend::ops::fast {

CellState cell_step(const torch::Tensor& x_RI, const CellState& state, const CellWeights& cell);  // without gradients
LayerOutput recurrent_layer(const LayerInput& input, std::span<const Direction> directions);
DotAttention dot_attention(const torch::Tensor& query_RH, const torch::Tensor& keys_SH, const torch::Tensor& values_SW,
                           const Layout& memory, std::span<const std::int64_t> sentences);  // without gradients
torch::Tensor attention_decoder(const AttentionDecoder& decoder, const AttentionDecoderInput& input);

}  // namespace attend::ops::fast
