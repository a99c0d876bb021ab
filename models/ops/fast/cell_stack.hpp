// The stacked cells of a decoder over the steps of a batch: the bottom cell reads the decoder's x, each other cell
// reads m h, with h of the cell below and dropout mask m.
#pragma once

#include "models/ops/fast/cell_tape.hpp"

namespace attend::ops::fast {

// The differentiable inputs of the cells, in the order of CellStackBackward::finish.
inline variable_list inputs_of(std::span<const CellWeights> cells, const DecoderInput& input) {
  variable_list inputs = {input.embedded_ME};
  for (std::size_t l = 0; l < cells.size(); ++l) {
    inputs.insert(inputs.end(), input.start[l].parts.begin(), input.start[l].parts.end());
    inputs.insert(inputs.end(),
                  {cells[l].weight_ih.master(), cells[l].weight_hh.master(), cells[l].bias_ih, cells[l].bias_hh});
  }
  return inputs;
}

template <class T>
struct CellStack {
  // The bottom cell reads [embedding; x]. `above`: dropout above each cell but the top one.
  CellStack(std::span<const CellWeights> weights, const std::vector<Dropout>& above, const DecoderInput& input,
            const Steps& steps)
      : dropouts(above) {
    const Tensor embedded = input.embedded_ME.detach().index_select(0, index(steps.rows));
    for (std::size_t l = 0; l < weights.size(); ++l) {
      cells.emplace_back(weights[l], l == 0 ? embedded : embedded.narrow(1, 0, 0), &input.start[l], steps);
    }
    hidden = at::empty({std::ssize(steps.order), bottom().width}, embedded.options());
  }

  const CellTape<T>& bottom() const { return cells.front(); }
  const CellTape<T>& top() const { return cells.back(); }

  // Runs a step once x of the bottom cell is written. The states of the top cell are written to `top_states`.
  void forward(const Step& step, Rows<T> top_states) const {
    for (std::size_t l = 0; l < cells.size(); ++l) {
      const CellTape<T>& cell = cells[l];
      const auto products = cell.multiply(step);
      const bool is_top = l + 1 == cells.size();
      const Rows<T> states = is_top ? top_states : rows<T>(hidden);
      for_rows(step, [&](std::int64_t begin, std::int64_t end) {
        cell.forward(step, products, states, begin, end);
        if (is_top) return;
        CopyRows{.width = cell.width,
                 .from = states,
                 .to = rows<T>(cells[l + 1].x, step.first),
                 .dropout = row_dropout(dropouts[l], step.ragged, cell.width)}(begin, end);
      });
    }
  }

  std::vector<CellTape<T>> cells;
  std::vector<Dropout> dropouts;
  Tensor hidden;  // states of a step that are not stored elsewhere
};

template <class T>
class CellStackBackward {
 public:
  explicit CellStackBackward(const CellStack<T>& stack) : stack_(stack), dh_(at::empty_like(stack.hidden, at::kFloat)) {
    for (const CellTape<T>& cell : stack.cells) cells_.emplace_back(cell, stack.hidden.size(0), Tensor());
  }

  // Backpropagates a step. `dh`: the gradient of the top cell's states, to which that from the following step is added;
  // before(begin, end) is called before rows of `dh` are read.
  template <class F>
  void backward(const Step& step, Rows<float> dh, const F& before) {
    for (std::size_t l = cells_.size(); l-- > 0;) {
      CellBackwardTape<T>& cell = cells_[l];
      const std::int64_t H = stack_.cells[l].width;
      const bool is_top = l + 1 == cells_.size();
      const Rows<float> gradient = is_top ? dh : rows<float>(dh_);
      for_rows(step, [&](std::int64_t begin, std::int64_t end) {
        if (is_top) {
          before(begin, end);
        } else {
          CopyRows{.width = H,
                   .from = cells_[l + 1].dx(),
                   .to = gradient,
                   .dropout = row_dropout(stack_.dropouts[l], step.ragged, H)}(begin, end);
        }
        cell.receive(step, gradient, begin, end);
        cell.backward(step, gradient, begin, end);
      });
      cell.multiply(step);
    }
  }

  // The gradient of the bottom cell's x at the latest step.
  Rows<T> dx() const { return cells_.front().dx(); }

  // The gradients of inputs_of, summed over all steps. `top_start`: a further gradient of the top cell's start state,
  // fp32, in the order of steps; undefined: none.
  variable_list finish(const Steps& steps, const Tensor& top_start) const {
    const std::int64_t started = steps.count(0);
    const Tensor order = index(steps.order).narrow(0, 0, started);
    variable_list gradients, of_cells;
    for (std::size_t l = 0; l < cells_.size(); ++l) {
      const CellGradients found = cells_[l].finish();
      CellState start = cells_[l].start(started);
      if (l + 1 == cells_.size() && top_start.defined()) {
        Tensor& hidden = start.parts[0];
        hidden = (hidden + top_start.narrow(0, 0, started)).to(hidden.scalar_type());
      }
      for (const Tensor& part : start.parts) {
        of_cells.push_back(
            at::zeros({stack_.hidden.size(0), part.size(1)}, part.options()).index_copy_(0, order, part));
      }
      of_cells.insert(of_cells.end(), {found.weight_ih, found.weight_hh, found.bias_ih, found.bias_hh});
      if (l == 0) gradients.push_back(found.known.index_select(0, index(steps.packed)));
    }
    return concatenated(std::move(gradients), of_cells);
  }

 private:
  const CellStack<T>& stack_;
  std::vector<CellBackwardTape<T>> cells_;
  Tensor dh_;  // dh of a cell below the top
};

}  // namespace attend::ops::fast
