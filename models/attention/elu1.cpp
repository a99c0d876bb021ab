#include "models/attention/elu1.hpp"

#include <ATen/ATen.h>

namespace attend {

torch::Tensor Elu1Score::energies(const torch::Tensor& query_RH, const torch::Tensor& keys_RSA) const {
  const auto phi = [](const torch::Tensor& x) { return at::elu(x) + 1; };
  return at::log(at::matmul(phi(keys_RSA), phi(query_RH.to(at::kFloat)).unsqueeze(2)).squeeze(2));
}

}  // namespace attend
