// No score: all energies are 0, so that the weights are equal and the context is the mean of the values within the
// scope. It reads neither queries nor keys and has no parameters.
//
//   three positions within the scope:  energies 0, 0, 0, weights 0.33, 0.33, 0.33
#pragma once

#include "models/attention/score.hpp"

namespace attend {

class UniformScore : public KeylessScore {
 public:
  torch::Tensor energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA,
                         const Places& /*places*/) const override {
    return torch::zeros(shape_of_energies(queries_TH, keys_SA), queries_TH.options().dtype(torch::kFloat));
  }
};

}  // namespace attend
