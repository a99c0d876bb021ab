// The plain formulations of recurrent.hpp: ATen on any device, differentiated by autograd.
#pragma once

#include "models/ops/recurrent.hpp"

namespace attend::ops::plain {

LstmState lstm_step(const torch::Tensor& x_RI, const LstmState& state, const LstmCell& cell);
LstmOutput lstm(const torch::Tensor& x_MI, const Layout& layout, std::span<const LstmCell> directions);
DotAttention dot_attention(const torch::Tensor& query_RH, const torch::Tensor& keys_SH, const torch::Tensor& values_SV,
                           const Layout& memory, std::span<const std::int64_t> sentences);
torch::Tensor attention_decoder(const AttentionDecoder& decoder, const AttentionDecoderInput& input);

}  // namespace attend::ops::plain
