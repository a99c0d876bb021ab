// The plain formulations of cell_step and recurrent_layer: the equations of elementwise.hpp, step by step.
#include "models/ops/paths.hpp"

#include <ATen/ATen.h>

namespace attend::ops::plain {
namespace {

using torch::Tensor;

// W x + b and U h + b in fp32, split into the gates of the cell.
struct Gates {
  Gates(const Tensor& x_RI, const CellState& state, const CellWeights& cell) {
    const std::int64_t count = cell.weight_hh.master().size(0) / cell.weight_hh.master().size(1);
    input = plain::linear(x_RI, cell.weight_ih, cell.bias_ih, Activation::none).to(at::kFloat).chunk(count, 1);
    hidden =
        plain::linear(state.hidden(), cell.weight_hh, cell.bias_hh, Activation::none).to(at::kFloat).chunk(count, 1);
  }

  Tensor sum(std::size_t gate) const { return input[gate] + hidden[gate]; }

  std::vector<Tensor> input, hidden;
};

CellState lstm_step(const Tensor& x_RI, const CellState& state, const CellWeights& cell) {
  const Gates gates(x_RI, state, cell);
  const Tensor i = at::sigmoid(gates.sum(0)), f = at::sigmoid(gates.sum(1)), g = at::tanh(gates.sum(2)),
               o = at::sigmoid(gates.sum(3));
  const Tensor c = f * state.parts[1] + i * g;
  return {{(o * at::tanh(c)).to(x_RI.scalar_type()), c}};
}

CellState gru_step(const Tensor& x_RI, const CellState& state, const CellWeights& cell) {
  const Gates gates(x_RI, state, cell);
  const Tensor r = at::sigmoid(gates.sum(0)), z = at::sigmoid(gates.sum(1)),
               n = at::tanh(gates.input[2] + r * gates.hidden[2]);
  return {{((1 - z) * n + z * state.hidden()).to(x_RI.scalar_type())}};
}

CellState tanh_step(const Tensor& x_RI, const CellState& state, const CellWeights& cell) {
  return {{at::tanh(Gates(x_RI, state, cell).sum(0)).to(x_RI.scalar_type())}};
}

Tensor reversed_rows(const LayoutTensors& layout) {
  return layout.offsets_B1.index_select(0, layout.sentences_M + 1) - 1 - layout.places_M;
}

CellState zero_state(const CellWeights& cell, std::int64_t count, const Tensor& like) {
  const Tensor hidden = at::zeros({count, cell.weight_hh.master().size(1)}, like.options());
  if (cell.kind != CellKind::lstm) return {{hidden}};
  return {{hidden, at::zeros_like(hidden, at::kFloat)}};
}

// Reads sentences from their first token.
LayerOutput read_forwards(const LayerInput& input, const CellWeights& cell, CellState state) {
  const Layout& layout = input.layout;
  const Tensor x_BTI = pad(input.x_MI, layout);
  const Tensor length_B1 = layout.on(input.x_MI.device()).lengths_B.unsqueeze(1);
  std::vector<std::vector<Tensor>> states(state.parts.size());  // [part][step]
  for (std::int64_t t = 0; t < layout.max_length; ++t) {
    const CellState next = plain::cell_step(x_BTI.select(1, t), state, cell);
    const Tensor reading = length_B1.gt(t);  // a finished sentence keeps its state
    for (std::size_t p = 0; p < states.size(); ++p) {
      state.parts[p] = at::where(reading, next.parts[p], state.parts[p]);
      states[p].push_back(state.parts[p]);
    }
  }
  const auto joined = [&](std::size_t p) {
    return states[p].empty() ? state.parts[p].narrow(0, 0, 0) : unpad(at::stack(states[p], 1), layout);
  };
  return {.output_MC = joined(0), .memory_MC = input.wants_memory ? joined(1) : Tensor(), .last = state};
}

LayerOutput read(const LayerInput& input, const Direction& direction, CellState start) {
  if (!direction.reverse) return read_forwards(input, direction.cell, std::move(start));
  const Tensor reversed = reversed_rows(input.layout.on(input.x_MI.device()));
  LayerOutput output = read_forwards(
      {.x_MI = input.x_MI.index_select(0, reversed), .layout = input.layout, .wants_memory = input.wants_memory},
      direction.cell, std::move(start));
  output.output_MC = output.output_MC.index_select(0, reversed);
  if (output.memory_MC.defined()) output.memory_MC = output.memory_MC.index_select(0, reversed);
  return output;
}

}  // namespace

CellState cell_step(const Tensor& x_RI, const CellState& state, const CellWeights& cell) {
  switch (cell.kind) {
    case CellKind::lstm: return lstm_step(x_RI, state, cell);
    case CellKind::gru: return gru_step(x_RI, state, cell);
    case CellKind::tanh: return tanh_step(x_RI, state, cell);
  }
  return {};
}

LayerOutput recurrent_layer(const LayerInput& input, std::span<const Direction> directions) {
  std::vector<LayerOutput> read_by;
  for (std::size_t d = 0; d < directions.size(); ++d) {
    const CellWeights& cell = directions[d].cell;
    CellState start;
    if (input.start == nullptr) {
      start = zero_state(cell, input.layout.size(), input.x_MI);
    } else {
      const std::int64_t width = cell.weight_hh.master().size(1);
      for (const Tensor& part : input.start->parts) {
        start.parts.push_back(part.narrow(1, static_cast<std::int64_t>(d) * width, width));
      }
    }
    read_by.push_back(read(input, directions[d], std::move(start)));
  }
  if (read_by.size() == 1) return read_by[0];
  const LayerOutput &a = read_by[0], &b = read_by[1];
  LayerOutput both{.output_MC = at::cat({a.output_MC, b.output_MC}, 1), .memory_MC = {}, .last = {}};
  if (input.wants_memory) both.memory_MC = at::cat({a.memory_MC, b.memory_MC}, 1);
  for (std::size_t p = 0; p < a.last.parts.size(); ++p) {
    both.last.parts.push_back(at::cat({a.last.parts[p], b.last.parts[p]}, 1));
  }
  return both;
}

}  // namespace attend::ops::plain
