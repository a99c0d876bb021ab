#include "models/attention/cosine.hpp"

#include <ATen/ATen.h>

#include <cmath>

namespace attend {
namespace {

torch::Tensor direction(const torch::Tensor& x) {
  const torch::Tensor values = x.to(at::kFloat);
  return values / values.square().sum(-1, true).clamp_min(1e-12).sqrt();
}

}  // namespace

void CosineScore::initialise(RandomStream& /*random*/) {
  const at::NoGradGuard no_grad;
  scale_.fill_(std::log2(32.0 * 32 - 32));
}

torch::Tensor CosineScore::prepare(const torch::Tensor& memory_SW) const { return direction(memory_SW); }

torch::Tensor CosineScore::energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA) const {
  const torch::Tensor cosines_TS = at::matmul(direction(queries_TH), keys_SA.transpose(-2, -1));
  return scale_.view({-1, 1, 1}) * cosines_TS;
}

}  // namespace attend
