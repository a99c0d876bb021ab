#include "models/attention/dot.hpp"

#include <ATen/ATen.h>

namespace attend {

torch::Tensor DotScore::energies(const torch::Tensor& query_RH, const torch::Tensor& keys_RSA) const {
  return at::matmul(keys_RSA, query_RH.to(at::kFloat).unsqueeze(2)).squeeze(2);
}

}  // namespace attend
