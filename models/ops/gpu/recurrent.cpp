// The GPU's forms of recurrent_layer, by cuDNN over packed sentences, and of cell_step, whose gates are one kernel.
#include <tuple>
#include <vector>

#include "models/ops/gpu/support.hpp"

namespace attend::ops::gpu {

// The products are in the type of x; gates and states are fp32, as in the plain formulation.
CellState cell_step(const Tensor& x_RI, const CellState& state, const CellWeights& cell) {
  if (cell.kind == CellKind::tanh) return plain::cell_step(x_RI, state, cell);
  const Tensor input = gpu::linear(x_RI, cell.weight_ih, {}, Activation::none).to(at::kFloat);
  const Tensor hidden = gpu::linear(state.hidden(), cell.weight_hh, {}, Activation::none).to(at::kFloat);
  if (cell.kind == CellKind::gru) {
    const auto result =
        at::_thnn_fused_gru_cell(input, hidden, state.hidden().to(at::kFloat), cell.bias_ih, cell.bias_hh);
    return {{std::get<0>(result).to(x_RI.scalar_type())}};
  }
  const auto result = at::_thnn_fused_lstm_cell(input, hidden, state.parts[1], cell.bias_ih, cell.bias_hh);
  return {{std::get<0>(result).to(x_RI.scalar_type()), std::get<1>(result)}};
}

namespace {

// The weights of all directions, in the type of x, as views of one tensor: matrices before biases, as cuDNN lays them
// out, so that it need not copy them. In the order of torch.nn.LSTM: both matrices and both biases of each direction.
std::vector<Tensor> weights_of(std::span<const Direction> directions, const Tensor& x) {
  std::vector<Tensor> parts, flat;
  for (const Direction& direction : directions) {
    parts.insert(parts.end(), {direction.cell.weight_ih.master(), direction.cell.weight_hh.master()});
  }
  for (const Direction& direction : directions) {
    parts.insert(parts.end(), {direction.cell.bias_ih, direction.cell.bias_hh});
  }
  std::vector<std::int64_t> sizes;
  for (const Tensor& part : parts) {
    flat.push_back(part.flatten());
    sizes.push_back(part.numel());
  }
  const std::vector<Tensor> views = at::cat(flat).to(x.scalar_type()).split_with_sizes(sizes);
  const std::size_t matrices = 2 * directions.size();
  std::vector<Tensor> weights;
  for (std::size_t d = 0; d < directions.size(); ++d) {
    for (const std::size_t i : {2 * d, 2 * d + 1, matrices + 2 * d, matrices + 2 * d + 1}) {
      weights.push_back(views[i].view(parts[i].sizes()));
    }
  }
  return weights;
}

// [B, directions * H] in the order of the batch, and [directions, B, H] in that of the packed sentences.
Tensor split_directions(const Tensor& x_BC, const Tensor& order_B, std::int64_t directions) {
  return x_BC.index_select(0, order_B).unflatten(1, {directions, -1}).transpose(0, 1).contiguous();
}
Tensor joined_directions(const Tensor& x_DBH, const Tensor& places_B) {
  return x_DBH.transpose(0, 1).flatten(1).index_select(0, places_B);
}

}  // namespace

LayerOutput recurrent_layer(const LayerInput& input, std::span<const Direction> directions) {
  const Tensor& x = input.x_MI;
  const std::int64_t count = std::ssize(directions), sentences = input.layout.size();
  const Steps steps(input.layout, /*reverse=*/count == 1 && directions.front().reverse);
  // cuDNN takes no empty sentences, reads forwards before backwards, and does not return the cell state at each token.
  const bool whole = sentences > 0 && steps.count(0) == sentences;
  const bool in_order = count == 1 || (!directions.front().reverse && directions.back().reverse);
  if (!whole || !in_order || input.wants_memory) return plain::recurrent_layer(input, directions);

  const CellKind kind = directions.front().cell.kind;
  std::vector<std::int64_t> places(sentences), sizes;
  for (std::int64_t i = 0; i < sentences; ++i) places[steps.order[i]] = i;
  for (std::int64_t t = 0; t < steps.size(); ++t) sizes.push_back(steps.count(t));
  const Tensor order_B = to_tensor(steps.order, x), places_B = to_tensor(places, x);
  const Tensor batch_sizes = at::tensor(sizes, at::kLong);  // which LibTorch wants on the CPU
  const std::vector<Tensor> weights = weights_of(directions, x);
  const std::int64_t width = directions.front().cell.weight_hh.master().size(1);

  std::vector<Tensor> start;
  for (std::size_t p = 0; p < (kind == CellKind::lstm ? 2 : 1); ++p) {
    start.push_back(input.start == nullptr
                        ? at::zeros({count, sentences, width}, x.options().requires_grad(false))
                        : split_directions(input.start->parts[p].to(x.scalar_type()), order_B, count));
  }
  const Tensor packed = x.index_select(0, to_tensor(steps.rows, x));
  const bool train = at::GradMode::is_enabled(), two = count == 2;
  Tensor output, hidden, memory;
  switch (kind) {
    case CellKind::lstm:
      std::tie(output, hidden, memory) = at::lstm(packed, batch_sizes, start, weights, /*has_biases=*/true,
                                                  /*num_layers=*/1, /*dropout=*/0, train, two);
      break;
    case CellKind::gru:
      std::tie(output, hidden) = at::gru(packed, batch_sizes, start[0], weights, true, 1, 0, train, two);
      break;
    case CellKind::tanh:
      std::tie(output, hidden) = at::rnn_tanh(packed, batch_sizes, start[0], weights, true, 1, 0, train, two);
  }
  LayerOutput result{.output_MC = output.index_select(0, to_tensor(steps.packed, x)),
                     .memory_MC = {},
                     .last = {{joined_directions(hidden, places_B)}}};
  if (memory.defined()) result.last.parts.push_back(joined_directions(memory, places_B).to(at::kFloat));
  return result;
}

}  // namespace attend::ops::gpu
