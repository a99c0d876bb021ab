// The fast paths of recurrent.hpp on a CPU, for the types allowed by dispatch.hpp. Values and gradients equal those of
// the plain formulations.
#pragma once

#include "models/ops/recurrent.hpp"

namespace attend::ops::fast {

CellState cell_step(const torch::Tensor& x_RI, const CellState& state, const CellWeights& cell);  // without gradients
LayerOutput recurrent_layer(const LayerInput& input, std::span<const Direction> directions);
Attended attention_step(const AttentionForm& form, const torch::Tensor& query_RH, const AttentionMemory& memory,
                        const AttendingRows& rows);  // without gradients
torch::Tensor luong_decoder(const LuongDecoder& decoder, const DecoderInput& input);
BahdanauOutput bahdanau_decoder(const BahdanauDecoder& decoder, const DecoderInput& input);

}  // namespace attend::ops::fast
