#include "models/ops/plain/recurrent.hpp"

#include <ATen/ATen.h>

#include "models/ops/padded.hpp"
#include "models/ops/plain/ops.hpp"

namespace attend::ops::plain {
namespace {

using torch::Tensor;

// The rows of each sentence in reverse.
Tensor reversed_rows(const Layout& layout, const Tensor& like) {
  std::vector<std::int64_t> rows;
  for (std::int64_t b = 0; b < layout.size(); ++b) {
    for (std::int64_t row = layout.offsets[b + 1]; row-- > layout.offsets[b];) rows.push_back(row);
  }
  return to_tensor(rows, like);
}

LstmOutput lstm_forwards(const Tensor& x_MI, const Layout& layout, const LstmCell& cell) {
  const auto B = layout.size(), H = cell.weight_hh.master().size(1);
  const Tensor x_BTI = pad(x_MI, layout);
  const Tensor length_B1 = lengths(layout, x_MI).unsqueeze(1);
  LstmState state{at::zeros({B, H}, x_MI.options()), at::zeros({B, H}, x_MI.options().dtype(at::kFloat))};
  std::vector<Tensor> hidden;
  for (std::int64_t t = 0; t < layout.max_length; ++t) {
    const LstmState next = plain::lstm_step(x_BTI.select(1, t), state, cell);
    const Tensor reading = length_B1.gt(t);  // a sentence that has ended keeps its state
    state = {at::where(reading, next.hidden, state.hidden), at::where(reading, next.cell, state.cell)};
    hidden.push_back(state.hidden);
  }
  return {hidden.empty() ? at::zeros({0, H}, x_MI.options()) : unpad(at::stack(hidden, 1), layout), state};
}

}  // namespace

LstmState lstm_step(const Tensor& x_RI, const LstmState& state, const LstmCell& cell) {
  const Tensor gates = plain::linear(x_RI, cell.weight_ih, cell.bias_ih, Activation::none, {}).to(at::kFloat) +
                       plain::linear(state.hidden, cell.weight_hh, cell.bias_hh, Activation::none, {});
  const auto ifgo = gates.chunk(4, 1);
  const Tensor c = at::sigmoid(ifgo[1]) * state.cell + at::sigmoid(ifgo[0]) * at::tanh(ifgo[2]);
  return {(at::sigmoid(ifgo[3]) * at::tanh(c)).to(x_RI.scalar_type()), c};
}

LstmOutput lstm(const Tensor& x_MI, const Layout& layout, std::span<const LstmCell> directions) {
  const LstmOutput forwards = lstm_forwards(x_MI, layout, directions[0]);
  if (directions.size() == 1) return forwards;
  const Tensor reversed = reversed_rows(layout, x_MI);
  const LstmOutput backwards = lstm_forwards(x_MI.index_select(0, reversed), layout, directions[1]);
  return {at::cat({forwards.output, backwards.output.index_select(0, reversed)}, 1),
          {at::cat({forwards.last.hidden, backwards.last.hidden}, 1),
           at::cat({forwards.last.cell, backwards.last.cell}, 1)}};
}

}  // namespace attend::ops::plain
