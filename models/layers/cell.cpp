#include "models/layers/cell.hpp"

#include <ATen/ATen.h>

#include "models/layers/layers.hpp"

namespace attend {

using torch::Tensor;

CellState CellState::select(const Tensor& rows) const {
  CellState chosen;
  for (const Tensor& part : parts) chosen.parts.push_back(part.index_select(0, rows));
  return chosen;
}

CellState CellState::first(std::int64_t count) const {
  CellState kept;
  for (const Tensor& part : parts) kept.parts.push_back(part.narrow(0, 0, count));
  return kept;
}

std::span<const StatePart> LstmCell::state_parts() const {
  static constexpr std::array kParts = {StatePart{.name = "hidden", .activation = ops::Activation::tanh, .fp32 = false},
                                        StatePart{.name = "cell", .activation = ops::Activation::none, .fp32 = true}};
  return kParts;
}

CellState LstmCell::step(const Tensor& x_RI, const CellState& state) const {
  const ops::LstmState next = ops::lstm_step(x_RI, {state.parts[0], state.parts[1]}, weights_);
  return {{next.hidden, next.cell}};
}

LayerOutput LstmCell::read(const Tensor& x_MI, const Layout& layout, const Cell* backward) const {
  std::vector<ops::LstmCell> directions = {weights_};
  if (backward != nullptr) directions.push_back(dynamic_cast<const LstmCell&>(*backward).weights_);
  const ops::LstmOutput read = ops::lstm(x_MI, layout, directions);
  return {read.output, {{read.last.hidden, read.last.cell}}};
}

void LstmCell::initialise(RandomStream& random) {
  fill_uniform(weights_.weight_ih.master(), 0.1, random);
  fill_uniform(weights_.weight_hh.master(), 0.1, random);
  const at::NoGradGuard no_grad;
  weights_.bias_ih.zero_();
  weights_.bias_hh.zero_();
  const std::int64_t hidden = weights_.bias_ih.size(0) / 4;
  weights_.bias_ih.narrow(0, hidden, hidden).fill_(1);  // gates are i, f, g, o
}

void LstmCell::visit_weights(const std::function<void(ops::Weight&)>& f) {
  f(weights_.weight_ih);
  f(weights_.weight_hh);
}

std::unique_ptr<Cell> make_cell(CellKind kind, std::int64_t input, std::int64_t hidden,
                                const std::function<Tensor(const std::string&, at::IntArrayRef)>& parameter) {
  std::unique_ptr<Cell> cell;
  switch (kind) {
    case CellKind::lstm: {
      const std::int64_t gates = 4 * hidden;
      const ops::Weight weight_ih(parameter("weight_ih", {gates, input}));
      const ops::Weight weight_hh(parameter("weight_hh", {gates, hidden}));
      const Tensor bias_ih = parameter("bias_ih", {gates}), bias_hh = parameter("bias_hh", {gates});
      cell = std::make_unique<LstmCell>(ops::LstmCell{weight_ih, weight_hh, bias_ih, bias_hh});
      break;
    }
  }
  return cell;
}

}  // namespace attend
