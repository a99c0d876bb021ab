#include "models/attention/dot.hpp"

#include <ATen/ATen.h>

namespace attend {

torch::Tensor DotScore::energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA) const {
  return at::matmul(queries_TH.to(at::kFloat), keys_SA.transpose(-2, -1));
}

}  // namespace attend
