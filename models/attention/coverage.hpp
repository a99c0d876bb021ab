// Coverage (Tu et al. 2016, arXiv 1601.04811, 3.1: one-dimensional linguistic coverage; its fertility is 1 here,
// predicted in the paper): the sum of a position's past weights, C_t(s) = Σ_{u<t} a_u(s), changes its key to
// key_s + C_t(s) w. With the additive score this gives the paper's vᵀ tanh(W q + U h_s + w C_t(s)).
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "models/layers/layers.hpp"
#include "models/ops/recurrent.hpp"

namespace attend {

class Coverage : public Layer {
 public:
  explicit Coverage(std::int64_t key_width) : weight_(register_parameter("weight", torch::empty({key_width}))) {}

  torch::Tensor add_to(const torch::Tensor& keys_RSA, const torch::Tensor& coverage_RS) const {
    return keys_RSA + coverage_RS.unsqueeze(2) * weight_;
  }

  // Adds coverage to the form of the fused step (ops/recurrent.hpp).
  void describe(ops::AttentionForm& form) const { form.coverage_A = weight_; }

  void initialise(RandomStream& random) override { fill_uniform(weight_, 0.1, random); }

 private:
  torch::Tensor weight_;  // w
};

}  // namespace attend
