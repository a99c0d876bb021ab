#include "models/attention/additive.hpp"

#include <ATen/ATen.h>

namespace attend {

AdditiveScore::AdditiveScore(const ScoreWidths& config)
    : query_(register_module("query", HeadLinear(config.heads, config.query_width, config.query_width))),
      key_(register_module("key", HeadLinear(config.heads, config.memory_width, config.query_width))),
      energy_(register_module("energy", HeadLinear(config.heads, config.query_width, 1))) {}

torch::Tensor AdditiveScore::energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA) const {
  const torch::Tensor queries_T1A = query_->forward(queries_TH).to(at::kFloat).unsqueeze(-2);
  const torch::Tensor inner_TSA = at::tanh(queries_T1A + keys_SA.unsqueeze(-3));
  return at::matmul(inner_TSA, energy_->matrices_NOI().unsqueeze(-3).transpose(-2, -1)).squeeze(-1);
}

bool AdditiveScore::enter(ops::AttentionForm& form) const {
  form.query_AH = &query_->weight;
  form.energy_1A = energy_->weight.master();
  return true;
}

}  // namespace attend
