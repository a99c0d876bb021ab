// A choice turns weights into context vectors: the third part of attention (score, scope, choice). The soft choice is
// the expectation of the values (arXiv 1409.0473, eq. 5), c = Σ_s a_s value_s; the hard one has its own file.
#pragma once

#include <torch/types.h>

#include "models/layers/pass.hpp"

namespace attend {

class Choice {
 public:
  virtual ~Choice() = default;

  // Weights [..., T, S] and values [..., S, W], fp32, give context vectors [..., T, W], fp32. A choice that samples
  // records it in `sampled`, in the order of the queries.
  virtual torch::Tensor context(const torch::Tensor& weights_TS, const torch::Tensor& values_SW, Pass& pass,
                                SampledChoices& sampled) const = 0;
};

class SoftChoice : public Choice {
 public:
  torch::Tensor context(const torch::Tensor& weights_TS, const torch::Tensor& values_SW, Pass& /*pass*/,
                        SampledChoices& /*sampled*/) const override {
    return torch::matmul(weights_TS, values_SW);
  }
};

}  // namespace attend
