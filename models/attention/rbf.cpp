#include "models/attention/rbf.hpp"

#include <ATen/ATen.h>

#include <cmath>

namespace attend {

RbfScore::RbfScore(std::int64_t query_width, std::int64_t memory_width)
    : key_(register_module("key", Linear(LinearConfig{.in = memory_width, .out = query_width, .bias = false}))),
      log_precision_(register_parameter("log_precision", torch::empty({1}))) {}

void RbfScore::initialise(RandomStream& /*random*/) {
  const at::NoGradGuard no_grad;
  log_precision_.fill_(-0.5 * std::log(static_cast<double>(key_->weight.master().size(0))));
}

torch::Tensor RbfScore::prepare(const torch::Tensor& memory_SW) const {
  const torch::Tensor mapped_SA = key_->forward(memory_SW).to(at::kFloat);
  return at::cat({mapped_SA, mapped_SA.square().sum(1, true)}, 1);
}

torch::Tensor RbfScore::energies(const torch::Tensor& query_RH, const torch::Tensor& keys_RSA) const {
  const torch::Tensor query_RA = query_RH.to(at::kFloat);
  const std::int64_t width = query_RA.size(1);
  const torch::Tensor products_RS = at::matmul(keys_RSA.narrow(2, 0, width), query_RA.unsqueeze(2)).squeeze(2);
  const torch::Tensor squares_RS = query_RA.square().sum(1, true) + keys_RSA.select(2, width) - 2 * products_RS;
  return -at::exp(log_precision_) * squares_RS;
}

}  // namespace attend
