#include "models/layers/cell.hpp"

#include <ATen/ATen.h>

#include <array>

#include "models/layers/layers.hpp"

namespace attend {
namespace {

constexpr std::array kLstmParts = {StatePart{.name = "hidden", .activation = ops::Activation::tanh, .fp32 = false},
                                   StatePart{.name = "cell", .activation = ops::Activation::none, .fp32 = true}};

std::int64_t num_gates(CellKind kind) {
  switch (kind) {
    case CellKind::lstm: return 4;
    case CellKind::gru: return 3;
    case CellKind::tanh: return 1;
  }
  return 0;
}

}  // namespace

Cell::Cell(CellKind kind, std::int64_t input, std::int64_t hidden,
           const std::function<torch::Tensor(const std::string&, at::IntArrayRef)>& parameter) {
  const std::int64_t rows = num_gates(kind) * hidden;
  weights_.kind = kind;
  weights_.weight_ih = ops::Weight(parameter("weight_ih", {rows, input}));
  weights_.weight_hh = ops::Weight(parameter("weight_hh", {rows, hidden}));
  weights_.bias_ih = parameter("bias_ih", {rows});
  weights_.bias_hh = parameter("bias_hh", {rows});
}

std::span<const StatePart> Cell::state_parts(CellKind kind) {
  const std::span<const StatePart> parts = kLstmParts;
  return kind == CellKind::lstm ? parts : parts.first(1);
}

void Cell::initialise(RandomStream& random) {
  fill_uniform(weights_.weight_ih.master(), 0.1, random);
  fill_uniform(weights_.weight_hh.master(), 0.1, random);
  const at::NoGradGuard no_grad;
  weights_.bias_ih.zero_();
  weights_.bias_hh.zero_();
  if (weights_.kind == CellKind::lstm) weights_.bias_ih.chunk(4)[1].fill_(1);  // gates are i, f, g, o
}

void Cell::visit_weights(const std::function<void(ops::Weight&)>& f) {
  f(weights_.weight_ih);
  f(weights_.weight_hh);
}

}  // namespace attend
