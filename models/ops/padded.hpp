// Blocks of sequences padded to the longest, as the plain formulations read them: what is missing in them, and a
// softmax that knows it.
#pragma once

#include <ATen/ATen.h>

#include <limits>
#include <span>
#include <vector>

#include "models/ops/ops.hpp"

namespace attend::ops {

// int64, on the device of `like`.
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

// True where a block padded to `longest` has nothing, [rows, longest].
inline torch::Tensor missing(const torch::Tensor& lengths_R, std::int64_t longest) {
  return at::arange(longest, lengths_R.options()).unsqueeze(0).ge(lengths_R.unsqueeze(1));
}

// Softmax over the last dimension, of what is not missing; zeros where it is, and where all is.
inline torch::Tensor masked_softmax(const torch::Tensor& scores, const torch::Tensor& missing) {
  return at::softmax(scores.masked_fill(missing, std::numeric_limits<float>::lowest()), -1).masked_fill(missing, 0);
}

}  // namespace attend::ops
