// A recurrent cell: the function that one layer applies to one token. Each kind of cell is one class; nothing outside
// it depends on the number of its gates or state tensors.
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options.hpp"
#include "core/random.hpp"
#include "models/ops/recurrent.hpp"

namespace attend {

enum class CellKind { lstm };
template <>
struct EnumNames<CellKind> {
  static constexpr std::array names{std::pair{CellKind::lstm, std::string_view("lstm")}};
};

// The state of a cell: parts of [rows, H]. The first part is the hidden state, which is the cell's output.
struct CellState {
  std::vector<torch::Tensor> parts;

  const torch::Tensor& hidden() const { return parts.front(); }
  // The given rows, in that order.
  CellState select(const torch::Tensor& rows) const;
  // The first `count` rows.
  CellState first(std::int64_t count) const;
};

// One part of a state: its name, and the activation that maps unbounded numbers to its range.
struct StatePart {
  std::string_view name;
  ops::Activation activation;
  bool fp32;  // whether it is fp32 even if activations are bf16
};

// The output of a layer of cells for ragged sentences: the hidden states of its directions, concatenated, [M,
// directions * H], and the final state of each direction.
struct LayerOutput {
  torch::Tensor output_MD;
  CellState last;
};

class Cell {
 public:
  virtual ~Cell() = default;

  virtual std::span<const StatePart> state_parts() const = 0;

  // Reads one token for each of R rows, x [R, I].
  virtual CellState step(const torch::Tensor& x_RI, const CellState& state) const = 0;

  // Reads whole sentences x [M, I] from zero states: this cell forwards, and `backward`, a cell of the same kind or
  // nullptr, from the last token.
  virtual LayerOutput read(const torch::Tensor& x_MI, const Layout& layout, const Cell* backward) const = 0;

  virtual void initialise(RandomStream& random) = 0;
  virtual void visit_weights(const std::function<void(ops::Weight&)>& f) = 0;
};

// LSTM (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000):
//   i, f, o = σ(W x + U h + b),  g = tanh(W x + U h + b),  c' = f c + i g,  h' = o tanh(c')
// Weights are initialised uniformly in ±0.1 (arXiv 1508.04025, 4.1) and biases to 0, those of forget gates to 1, so
// that cells remember from the start (Jozefowicz, Zaremba and Sutskever 2015).
class LstmCell : public Cell {
 public:
  explicit LstmCell(ops::LstmCell weights) : weights_(std::move(weights)) {}

  std::span<const StatePart> state_parts() const override;
  CellState step(const torch::Tensor& x_RI, const CellState& state) const override;
  LayerOutput read(const torch::Tensor& x_MI, const Layout& layout, const Cell* backward) const override;
  void initialise(RandomStream& random) override;
  void visit_weights(const std::function<void(ops::Weight&)>& f) override;

  const ops::LstmCell& weights() const { return weights_; }

 private:
  ops::LstmCell weights_;
};

// Makes a cell of the given kind with `input` inputs and `hidden` outputs. `parameter` registers a parameter by
// PyTorch's name (weight_ih, weight_hh, bias_ih, bias_hh) and sizes. The only place that switches on CellKind.
std::unique_ptr<Cell> make_cell(CellKind kind, std::int64_t input, std::int64_t hidden,
                                const std::function<torch::Tensor(const std::string&, at::IntArrayRef)>& parameter);

}  // namespace attend
