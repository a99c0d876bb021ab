#include "models/layers/recurrent.hpp"

#include <string>

namespace attend {

using torch::Tensor;

LstmImpl::LstmImpl(const LstmConfig& config) : directions_(config.bidirectional ? 2 : 1) {
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const std::int64_t input = layer == 0 ? config.input : directions_ * config.hidden;
    for (std::int64_t direction = 0; direction < directions_; ++direction) {
      const std::string suffix = "_l" + std::to_string(layer) + (direction == 1 ? "_reverse" : "");
      const auto parameter = [&](const std::string& name, at::IntArrayRef sizes) {
        return register_parameter(name + suffix, torch::empty(sizes));
      };
      cells_.push_back({.weight_ih = ops::Weight(parameter("weight_ih", {4 * config.hidden, input})),
                        .weight_hh = ops::Weight(parameter("weight_hh", {4 * config.hidden, config.hidden})),
                        .bias_ih = parameter("bias_ih", {4 * config.hidden}),
                        .bias_hh = parameter("bias_hh", {4 * config.hidden})});
    }
  }
}

LstmOutput LstmImpl::forward(const Tensor& x_MI, const Layout& layout, double dropout, Pass& pass) const {
  LstmOutput result{.output_MH = x_MI, .last = {}};
  for (auto cells = this->cells(); !cells.empty(); cells = cells.subspan(directions_)) {
    if (!result.last.empty()) result.output_MH = ops::dropout(result.output_MH, pass.dropout(dropout));
    const auto [output, last] = ops::lstm(result.output_MH, layout, cells.first(directions_));
    result.output_MH = output;
    result.last.push_back(last);
  }
  return result;
}

void LstmImpl::initialise(RandomStream& random) {
  for (const ops::LstmCell& cell : cells_) {
    fill_uniform(cell.weight_ih.master(), 0.1, random);
    fill_uniform(cell.weight_hh.master(), 0.1, random);
    const at::NoGradGuard no_grad;
    cell.bias_ih.zero_();
    cell.bias_hh.zero_();
    const std::int64_t hidden = cell.bias_ih.size(0) / 4;
    cell.bias_ih.narrow(0, hidden, hidden).fill_(1);  // gates are i, f, g, o
  }
}

void LstmImpl::visit_weights(const std::function<void(ops::Weight&)>& f) {
  for (ops::LstmCell& cell : cells_) {
    f(cell.weight_ih);
    f(cell.weight_hh);
  }
}

}  // namespace attend
