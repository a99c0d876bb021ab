#include "models/layers/recurrent.hpp"

#include <array>
#include <string>

namespace attend {

using torch::Tensor;

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

std::size_t num_directions(Direction reading) { return reading == Direction::both ? 2 : 1; }

}  // namespace

std::span<const StatePart> state_parts(CellKind kind) {
  const std::span<const StatePart> parts = kLstmParts;
  return kind == CellKind::lstm ? parts : parts.first(1);
}

RecurrenceImpl::RecurrenceImpl(const RecurrenceConfig& config) : reading_(config.reading) {
  const auto directions = static_cast<std::int64_t>(num_directions(reading_));
  const std::int64_t rows = num_gates(config.cell) * config.hidden;
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const std::int64_t input = layer == 0 ? config.input : directions * config.hidden;
    for (std::int64_t direction = 0; direction < directions; ++direction) {
      const std::string suffix = "_l" + std::to_string(layer) + (direction == 1 ? "_reverse" : "");
      const auto parameter = [&](const char* name, at::IntArrayRef sizes) {
        return register_parameter(name + suffix, torch::empty(sizes));
      };
      cells_.push_back({.kind = config.cell,
                        .weight_ih = ops::Weight(parameter("weight_ih", {rows, input})),
                        .weight_hh = ops::Weight(parameter("weight_hh", {rows, config.hidden})),
                        .bias_ih = parameter("bias_ih", {rows}),
                        .bias_hh = parameter("bias_hh", {rows})});
    }
  }
}

RecurrenceOutput RecurrenceImpl::forward(const Tensor& x_MI, const Layout& layout, double dropout, Pass& pass,
                                         const std::vector<CellState>& start, bool wants_memory) const {
  RecurrenceOutput result{.output_MC = x_MI, .memory_MC = {}, .last = {}};
  const std::size_t num_layers = cells_.size() / num_directions(reading_);
  if (pass.observes_hidden()) pass.observer()->on_hidden(AttentionPlace::encoder, 0, x_MI);
  for (std::size_t layer = 0; layer < num_layers; ++layer) {
    std::vector<ops::Direction> directions;
    for (std::size_t d = 0; d < num_directions(reading_); ++d) {
      const bool reverse = d == 1 || reading_ == Direction::reversed;
      directions.push_back({cells_[num_directions(reading_) * layer + d], reverse});
    }
    if (layer > 0) result.output_MC = ops::dropout(result.output_MC, pass.dropout(dropout));
    const ops::LayerOutput read = ops::recurrent_layer({.x_MI = result.output_MC,
                                                        .layout = layout,
                                                        .start = start.empty() ? nullptr : &start[layer],
                                                        .wants_memory = wants_memory && layer + 1 == num_layers},
                                                       directions);
    result.output_MC = read.output_MC;
    result.memory_MC = read.memory_MC;
    result.last.push_back(read.last);
    if (pass.observes_hidden()) {
      pass.observer()->on_hidden(AttentionPlace::encoder, static_cast<std::int64_t>(layer) + 1, result.output_MC);
    }
  }
  return result;
}

void RecurrenceImpl::initialise(RandomStream& random) {
  const at::NoGradGuard no_grad;
  for (ops::CellWeights& cell : cells_) {
    fill_uniform(cell.weight_ih.master(), 0.1, random);
    fill_uniform(cell.weight_hh.master(), 0.1, random);
    cell.bias_ih.zero_();
    cell.bias_hh.zero_();
    if (cell.kind == CellKind::lstm) cell.bias_ih.chunk(4)[1].fill_(1);  // gates are i, f, g, o
  }
}

ParameterTraits RecurrenceImpl::traits_of(const Tensor& parameter) const {
  if (parameter.dim() < 2) return {.role = ParameterRole::bias};
  const Tensor& hidden = cells_.front().weight_hh.master();
  const auto is_its = [&](const ops::CellWeights& cell) { return cell.weight_hh.master().is_same(parameter); };
  return {.stacked = hidden.size(0) / hidden.size(1), .is_recurrent = std::ranges::any_of(cells_, is_its)};
}

void RecurrenceImpl::visit_weights(const std::function<void(ops::Weight&)>& f) {
  for (ops::CellWeights& cell : cells_) {
    f(cell.weight_ih);
    f(cell.weight_hh);
  }
}

}  // namespace attend
