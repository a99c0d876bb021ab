// Logits: products of bf16 numbers with fp32 sums and results. LibTorch's oneDNN rounds results to the type of the
// factors, which puts logits of 8 to 16 on a grid of 1 / 16. Uses vdpbf16ps and so requires has_native_bf16().
#pragma once

#include <vector>

#include "models/ops/kernels/types.hpp"

namespace attend::ops::kernels {

// W [outputs, inputs] in blocks of 16 outputs by 2 inputs, both padded with zeros: numbers[block][pair][output][2].
struct Bf16Panels {
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::vector<Bf16> numbers;

  static constexpr std::int64_t kGroup = 64;  // minimum outputs per thread
  std::int64_t groups() const { return (outputs + kGroup - 1) / kGroup; }
};
Bf16Panels make_panels(const Bf16* weight, std::int64_t outputs, std::int64_t inputs);

// y [rows, outputs] = x [rows, inputs] Wᵀ + bias (may be null). Rows are contiguous.
struct LogitsProduct {
  const Bf16* x;
  std::int64_t rows;
  const Bf16Panels& weight;
  const float* bias;
  float* y;
};
// Computes groups of outputs from `begin` to `end`.
void multiply(const LogitsProduct& p, std::int64_t begin, std::int64_t end);

}  // namespace attend::ops::kernels
