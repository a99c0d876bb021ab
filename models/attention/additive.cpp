#include "models/attention/additive.hpp"

#include <ATen/ATen.h>

namespace attend {

AdditiveScore::AdditiveScore(std::int64_t query_width, std::int64_t memory_width)
    : query_(register_module("query", Linear(LinearConfig{.in = query_width, .out = query_width, .bias = false}))),
      key_(register_module("key", Linear(LinearConfig{.in = memory_width, .out = query_width, .bias = false}))),
      energy_(register_module("energy", Linear(LinearConfig{.in = query_width, .out = 1, .bias = false}))) {}

torch::Tensor AdditiveScore::energies(const torch::Tensor& query_RH, const torch::Tensor& keys_RSA) const {
  const torch::Tensor query_R1A = query_->forward(query_RH).to(at::kFloat).unsqueeze(1);
  return at::matmul(at::tanh(query_R1A + keys_RSA), energy_->weight.master().squeeze(0));
}

bool AdditiveScore::enter(ops::AttentionForm& form) const {
  form.query_AH = &query_->weight;
  form.energy_1A = energy_->weight.master();
  return true;
}

}  // namespace attend
