#include "models/layers/recurrent.hpp"

#include <string>

namespace attend {

using torch::Tensor;

RecurrenceImpl::RecurrenceImpl(const RecurrenceConfig& config) : directions_(config.bidirectional ? 2 : 1) {
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const std::int64_t input = layer == 0 ? config.input : static_cast<std::int64_t>(directions_) * config.hidden;
    for (std::size_t direction = 0; direction < directions_; ++direction) {
      const std::string suffix = "_l" + std::to_string(layer) + (direction == 1 ? "_reverse" : "");
      cells_.push_back(
          make_cell(config.cell, input, config.hidden, [&](const std::string& name, at::IntArrayRef sizes) {
            return register_parameter(name + suffix, torch::empty(sizes));
          }));
    }
  }
}

RecurrenceOutput RecurrenceImpl::forward(const Tensor& x_MI, const Layout& layout, double dropout, Pass& pass) const {
  RecurrenceOutput result{.output_MD = x_MI, .last = {}};
  for (std::size_t i = 0; i < cells_.size(); i += directions_) {
    if (i > 0) result.output_MD = ops::dropout(result.output_MD, pass.dropout(dropout));
    const Cell* backward = directions_ == 2 ? cells_[i + 1].get() : nullptr;
    const LayerOutput read = cells_[i]->read(result.output_MD, layout, backward);
    result.output_MD = read.output_MD;
    result.last.push_back(read.last);
  }
  return result;
}

void RecurrenceImpl::initialise(RandomStream& random) {
  for (const auto& cell : cells_) cell->initialise(random);
}

void RecurrenceImpl::visit_weights(const std::function<void(ops::Weight&)>& f) {
  for (const auto& cell : cells_) cell->visit_weights(f);
}

}  // namespace attend
