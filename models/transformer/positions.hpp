// Positions of tokens as sinusoids (Vaswani et al. 2017, arXiv 1706.03762, section 3.5), added to the embeddings:
// sin(t / 10000^(2i / H)) in column 2i and the cosine in 2i + 1 of position t.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>

#include "models/layers/layers.hpp"

namespace attend {

// A table kept as the buffer `positions` of a model; rows beyond it are computed when a sentence is longer.
class SinusoidPositions {
 public:
  SinusoidPositions(torch::nn::Module& model, std::int64_t width)
      : width_(width), table_TH_(model.register_buffer("positions", sinusoids(0, kKept, width))) {}

  // The rows of `length` positions from `first`, [length, H].
  torch::Tensor rows(std::int64_t first, std::int64_t length) const {
    if (first + length <= kKept) return table_TH_.narrow(0, first, length);
    return sinusoids(first, length, width_).to(table_TH_.device());
  }

 private:
  static constexpr std::int64_t kKept = 1024;

  std::int64_t width_;
  torch::Tensor table_TH_;
};

}  // namespace attend
