// The plain formulations of what recurrent.hpp has of LSTMs: ATen on any device, differentiated by autograd.
#pragma once

#include "models/ops/recurrent.hpp"

namespace attend::ops::plain {

LstmState lstm_step(const torch::Tensor& x_RI, const LstmState& state, const LstmCell& cell);
LstmOutput lstm(const torch::Tensor& x_MI, const Layout& layout, std::span<const LstmCell> directions);

}  // namespace attend::ops::plain
