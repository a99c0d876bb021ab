// A recurrent cell: the function that one layer applies to one token (ops/recurrent.hpp has the kinds and their
// equations). Other code does not depend on the number of gates or state tensors.
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/random.hpp"
#include "models/ops/recurrent.hpp"

namespace attend {

using ops::CellState;

// A part of a cell's state: its name, and the activation that maps any number into its range.
struct StatePart {
  std::string_view name;
  ops::Activation activation;
  bool fp32;  // true if it is fp32 even when activations are bf16
};

class Cell {
 public:
  // `parameter` registers a parameter by PyTorch's name (weight_ih, weight_hh, bias_ih, bias_hh) and sizes.
  Cell(CellKind kind, std::int64_t input, std::int64_t hidden,
       const std::function<torch::Tensor(const std::string&, at::IntArrayRef)>& parameter);

  static std::span<const StatePart> state_parts(CellKind kind);

  // One step for R rows, x [R, I].
  CellState step(const torch::Tensor& x_RI, const CellState& state) const {
    return ops::cell_step(x_RI, state, weights_);
  }

  // Initialises weights uniformly in ±0.1 (arXiv 1508.04025, 4.1) and biases to 0, except the bias of an LSTM's forget
  // gate to 1, so that the cell remembers from the start (Jozefowicz, Zaremba and Sutskever 2015).
  void initialise(RandomStream& random);

  void visit_weights(const std::function<void(ops::Weight&)>& f);

  const ops::CellWeights& weights() const { return weights_; }

 private:
  ops::CellWeights weights_;
};

}  // namespace attend
