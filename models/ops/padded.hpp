// Support of the plain formulations: indices and numbers as tensors, tables with a row per head, and a masked softmax.
#pragma once

#include <ATen/ATen.h>

#include <limits>
#include <span>
#include <vector>

#include "models/ops/ops.hpp"

namespace attend::ops {

// An int64 tensor on the device of `like`.
inline torch::Tensor to_tensor(std::span<const std::int64_t> numbers, const torch::Tensor& like) {
  return copy_to(at::tensor(at::ArrayRef<std::int64_t>(numbers.data(), numbers.size()), at::kLong), like.device());
}

// All numbers of a tensor, row by row.
inline std::vector<double> to_doubles(const torch::Tensor& x) {
  const torch::Tensor numbers = x.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* first = numbers.const_data_ptr<double>();
  return {first, first + numbers.numel()};
}

// table_NC[h][column] for every head h: columns [T, S], or [B, 1, T, S] for several sentences, give [N, T, S] or
// [B, N, T, S]. By embedding, whose gradient is summed in a fixed order; that of indexing is not.
inline torch::Tensor numbers_of_heads(const torch::Tensor& table_NC, const torch::Tensor& columns_TS) {
  const torch::Tensor columns_1TS = columns_TS.dim() == 2 ? columns_TS.unsqueeze(0) : columns_TS;
  return at::embedding(table_NC.t(), columns_1TS).transpose(-1, -4).squeeze(-1);
}

// Softmax over the elements of the last dimension that are not missing; the others, perhaps all, are 0.
inline torch::Tensor masked_softmax(const torch::Tensor& scores, const torch::Tensor& missing) {
  return at::softmax(scores.masked_fill(missing, std::numeric_limits<float>::lowest()), -1).masked_fill(missing, 0);
}

}  // namespace attend::ops
