#include "models/layers/recurrent.hpp"

#include <string>

namespace attend {

using torch::Tensor;

namespace {

std::size_t num_directions(Direction reading) { return reading == Direction::both ? 2 : 1; }

}  // namespace

RecurrenceImpl::RecurrenceImpl(const RecurrenceConfig& config) : reading_(config.reading) {
  const auto directions = static_cast<std::int64_t>(num_directions(reading_));
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const std::int64_t input = layer == 0 ? config.input : directions * config.hidden;
    for (std::int64_t direction = 0; direction < directions; ++direction) {
      const std::string suffix = "_l" + std::to_string(layer) + (direction == 1 ? "_reverse" : "");
      cells_.emplace_back(config.cell, input, config.hidden, [&](const std::string& name, at::IntArrayRef sizes) {
        return register_parameter(name + suffix, torch::empty(sizes));
      });
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
      directions.push_back({cells_[num_directions(reading_) * layer + d].weights(), reverse});
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

std::vector<ops::CellWeights> RecurrenceImpl::cell_weights() const {
  std::vector<ops::CellWeights> weights;
  for (const Cell& cell : cells_) weights.push_back(cell.weights());
  return weights;
}

void RecurrenceImpl::initialise(RandomStream& random) {
  for (Cell& cell : cells_) cell.initialise(random);
}

void RecurrenceImpl::visit_weights(const std::function<void(ops::Weight&)>& f) {
  for (Cell& cell : cells_) cell.visit_weights(f);
}

}  // namespace attend
