#include "models/attention/elu1.hpp"

#include <ATen/ATen.h>

#include <limits>

namespace attend {
namespace {

torch::Tensor phi(const torch::Tensor& x) { return at::elu(x.to(at::kFloat)) + 1; }

}  // namespace

torch::Tensor Elu1Score::prepare(const torch::Tensor& memory_SW) const { return phi(key_->forward(memory_SW)); }

torch::Tensor Elu1Score::energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA) const {
  const torch::Tensor products_TS = at::matmul(phi(queries_TH), keys_SA.transpose(-2, -1));
  return at::log(products_TS.clamp_min(std::numeric_limits<float>::min()));  // padding has no features
}

}  // namespace attend
