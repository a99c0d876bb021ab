// The plain formulations of the cells and layers of recurrent.hpp: ATen on any device, differentiated by autograd.
#pragma once

#include "models/ops/recurrent.hpp"

namespace attend::ops::plain {

CellState cell_step(const torch::Tensor& x_RI, const CellState& state, const CellWeights& cell);
LayerOutput recurrent_layer(const LayerInput& input, std::span<const Direction> directions);

}  // namespace attend::ops::plain
