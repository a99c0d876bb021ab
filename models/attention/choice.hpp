// A choice turns weights into a context vector: the third part of recurrent attention. Soft attention takes the
// expectation of the values (arXiv 1409.0473, eq. 5), c = Σ_s a_s value_s; hard attention has its own file.
#pragma once

#include <torch/types.h>

#include "models/layers/pass.hpp"

namespace attend {

class Choice {
 public:
  virtual ~Choice() = default;

  // Computes context vectors [R, W], fp32, from weights [R, S] and values [R, S, W], fp32. Records samples in
  // `sampled`.
  virtual torch::Tensor context(const torch::Tensor& weights_RS, const torch::Tensor& values_RSW, Pass& pass,
                                SampledChoices& sampled) const = 0;

  // True for the weighted sum that the fused ops (ops/recurrent.hpp) compute.
  virtual bool is_soft() const { return false; }
};

class SoftChoice : public Choice {
 public:
  torch::Tensor context(const torch::Tensor& weights_RS, const torch::Tensor& values_RSW, Pass& /*pass*/,
                        SampledChoices& /*sampled*/) const override {
    return torch::matmul(weights_RS.unsqueeze(1), values_RSW).squeeze(1);
  }
  bool is_soft() const override { return true; }
};

}  // namespace attend
