// A linear map without bias of every head: x [..., N, S, I] to [..., N, S, O] by N matrices [O, I], stacked in one
// weight [N * O, I]. With one head, x has no axis of heads, and it is the map of `Linear`.
#pragma once

#include <torch/nn/pimpl.h>

#include <cstdint>

#include "models/layers/layers.hpp"

namespace attend {

class HeadLinearImpl : public LinearImpl {
 public:
  HeadLinearImpl(std::int64_t heads, std::int64_t in, std::int64_t out, double deviation = 0)
      : LinearImpl({.in = in, .out = heads * out, .bias = false, .fused = heads, .deviation = deviation}),
        heads_(heads) {}

  torch::Tensor forward(const torch::Tensor& x_SI) const {
    if (heads_ == 1) return LinearImpl::forward(x_SI);
    return torch::matmul(x_SI, matrices_NOI().to(x_SI.scalar_type()).transpose(1, 2));
  }

  // [N, O, I], or [O, I] of one head, fp32.
  torch::Tensor matrices_NOI() const {
    return heads_ == 1 ? weight.master() : weight.master().unflatten(0, {heads_, -1});
  }

 private:
  std::int64_t heads_;
};
TORCH_MODULE(HeadLinear);

// A number of every head, [N], as a factor of energies [..., N, T, S], or of [..., T, S] with one head.
inline torch::Tensor factor_of_heads(const torch::Tensor& numbers_N) {
  return numbers_N.size(0) == 1 ? numbers_N : numbers_N.view({-1, 1, 1});
}

}  // namespace attend
