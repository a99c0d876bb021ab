// Support of the plain formulations: indices as tensors, and a masked softmax.
#pragma once

#include <ATen/ATen.h>

#include <limits>
#include <span>

#include "models/ops/ops.hpp"

namespace attend::ops {

// An int64 tensor on the device of `like`.
inline torch::Tensor to_tensor(std::span<const std::int64_t> numbers, const torch::Tensor& like) {
  return at::tensor(at::ArrayRef<std::int64_t>(numbers.data(), numbers.size()), at::kLong).to(like.device());
}

// Softmax over the last dimension without missing elements, which get 0; all zeros if everything is missing.
inline torch::Tensor masked_softmax(const torch::Tensor& scores, const torch::Tensor& missing) {
  return at::softmax(scores.masked_fill(missing, std::numeric_limits<float>::lowest()), -1).masked_fill(missing, 0);
}

}  // namespace attend::ops
