#include "models/attention/local_p.hpp"

#include <ATen/ATen.h>

namespace attend {

using torch::Tensor;

LocalPredictiveScope::LocalPredictiveScope(std::int64_t query_width, std::int64_t half_width)
    : half_width_(half_width),
      inner_(register_module("inner", Linear(LinearConfig{.in = query_width, .out = query_width, .bias = false}))),
      centre_(register_module("centre", Linear(LinearConfig{.in = query_width, .out = 1, .bias = false}))) {}

Window LocalPredictiveScope::window(const Tensor& queries_TH, const Places& places) const {
  const Tensor share_T1 =
      at::sigmoid(centre_->forward(inner_->forward(queries_TH, ops::Activation::tanh)).to(at::kFloat));
  const Tensor distances_TS = places.positions_S() - places.lengths_11() * share_T1;
  const double deviation = static_cast<double>(half_width_) / 2;
  return {.outside_TS = places.padding_1S | distances_TS.detach().abs().gt(half_width_),
          .factor_TS = at::exp(distances_TS.square() / (-2 * deviation * deviation))};
}

void LocalPredictiveScope::enter(ops::AttentionForm& form) const {
  form.half_width = half_width_;
  form.inner_HH = &inner_->weight;
  form.centre_1H = &centre_->weight;
}

}  // namespace attend
