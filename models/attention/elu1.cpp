#include "models/attention/elu1.hpp"

#include <ATen/ATen.h>

#include <limits>

namespace attend {
namespace {

torch::Tensor phi(const torch::Tensor& x) { return at::elu(x.to(at::kFloat)) + 1; }

}  // namespace

torch::Tensor Elu1Score::prepare(const torch::Tensor& memory_SW) const { return phi(key_->forward(memory_SW)); }

torch::Tensor Elu1Score::energies(const torch::Tensor& query_RH, const torch::Tensor& keys_RSA) const {
  const torch::Tensor products_RS = at::matmul(keys_RSA, phi(query_RH).unsqueeze(2)).squeeze(2);
  return at::log(products_RS.clamp_min(std::numeric_limits<float>::min()));  // the features of padding are zero
}

}  // namespace attend
