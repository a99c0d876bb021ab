// No score: all energies are 0, so that the weights are equal and the context is the mean of what a query may see. It
// reads neither queries nor keys, and has no parameters; what is left of attention is its values.
//
//   three positions that may be seen:  energies 0, 0, 0, weights 0.33, 0.33, 0.33
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
