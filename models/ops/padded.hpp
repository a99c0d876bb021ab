// Sequences padded to the longest one, for the plain formulations: the padding mask and a masked softmax.
#pragma once

#include <ATen/ATen.h>

#include <limits>
#include <span>
#include <vector>

#include "models/ops/ops.hpp"

namespace attend::ops {

// An int64 tensor on the device of `like`.
inline torch::Tensor to_tensor(std::span<const std::int64_t> numbers, const torch::Tensor& like) {
  return at::tensor(at::ArrayRef<std::int64_t>(numbers.data(), numbers.size()), at::kLong).to(like.device());
}

// The length of each sentence, [B].
inline torch::Tensor lengths(const Layout& layout, const torch::Tensor& like) {
  std::vector<std::int64_t> lengths;
  lengths.reserve(static_cast<std::size_t>(layout.size()));
  for (std::int64_t b = 0; b < layout.size(); ++b) lengths.push_back(layout.length(b));
  return to_tensor(lengths, like);
}

// The padding mask of sequences padded to `longest`, [rows, longest]; true at padding.
inline torch::Tensor missing(const torch::Tensor& lengths_R, std::int64_t longest) {
  return at::arange(longest, lengths_R.options()).unsqueeze(0).ge(lengths_R.unsqueeze(1));
}

// Softmax over the last dimension without missing elements, which get 0; all zeros if everything is missing.
inline torch::Tensor masked_softmax(const torch::Tensor& scores, const torch::Tensor& missing) {
  return at::softmax(scores.masked_fill(missing, std::numeric_limits<float>::lowest()), -1).masked_fill(missing, 0);
}

}  // namespace attend::ops
