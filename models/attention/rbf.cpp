#include "models/attention/rbf.hpp"

#include <ATen/ATen.h>

#include <cmath>

namespace attend {

RbfScore::RbfScore(const ScoreWidths& config)
    : key_(register_module("key", HeadLinear(config.heads, config.memory_width, config.query_width))),
      log_precision_(register_parameter("log_precision", torch::empty({config.heads}))) {}

void RbfScore::initialise(RandomStream& /*random*/) {
  const at::NoGradGuard no_grad;
  log_precision_.fill_(-0.5 * std::log(static_cast<double>(key_->matrices_NOI().size(-2))));
}

torch::Tensor RbfScore::prepare(const torch::Tensor& memory_SW) const {
  const torch::Tensor mapped_SA = key_->forward(memory_SW).to(at::kFloat);
  return at::cat({mapped_SA, mapped_SA.square().sum(-1, true)}, -1);
}

torch::Tensor RbfScore::energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA) const {
  const torch::Tensor queries_TA = queries_TH.to(at::kFloat);
  const std::int64_t width = queries_TA.size(-1);
  const torch::Tensor products_TS = at::matmul(queries_TA, keys_SA.narrow(-1, 0, width).transpose(-2, -1));
  const torch::Tensor squares_TS =
      queries_TA.square().sum(-1, true) + keys_SA.select(-1, width).unsqueeze(-2) - 2 * products_TS;
  return -factor_of_heads(at::exp(log_precision_)) * squares_TS;
}

}  // namespace attend
