#include "models/attention/local_p.hpp"

#include <ATen/ATen.h>

namespace attend {

using torch::Tensor;

LocalPredictiveScope::LocalPredictiveScope(std::int64_t query_width, std::int64_t half_width)
    : half_width_(half_width),
      inner_(register_module("inner", Linear(LinearConfig{.in = query_width, .out = query_width, .bias = false}))),
      centre_(register_module("centre", Linear(LinearConfig{.in = query_width, .out = 1, .bias = false}))) {}

Window LocalPredictiveScope::window(const Tensor& query_RH, const MemoryRows& memory, std::int64_t /*step*/) const {
  const Tensor& padding_RS = memory.padding_RS();
  const Tensor length_R1 = padding_RS.logical_not().sum(1, true);
  const Tensor share_R1 =
      at::sigmoid(centre_->forward(inner_->forward(query_RH, ops::Activation::tanh)).to(at::kFloat));
  const Tensor position_S = at::arange(padding_RS.size(1), share_R1.options().requires_grad(false));
  const Tensor distance_RS = position_S - length_R1 * share_R1;
  const double deviation = static_cast<double>(half_width_) / 2;
  return {.outside_RS = padding_RS | distance_RS.detach().abs().gt(half_width_),
          .factor_RS = at::exp(distance_RS.square() / (-2 * deviation * deviation))};
}

void LocalPredictiveScope::enter(ops::AttentionForm& form) const {
  form.half_width = half_width_;
  form.inner_HH = &inner_->weight;
  form.centre_1H = &centre_->weight;
}

}  // namespace attend
