// Cuts attention weights below a threshold: weights close to 0 say little about a translation, and without them a
// reader sees its sources. The remaining weights keep their proportions and are rescaled to the original sum; if all
// are below the threshold, the largest remains (the first of equal ones).
//
//   cut_weights({0.5, 0.3, 0.16, 0.04}, 0.05)   {0.52, 0.31, 0.17, 0}
//   cut_weights({0.5, 0.3, 0.16, 0.04}, 0.6)    {1, 0, 0, 0}
//
// Nothing is cut in training. The threshold is passed in Pass::attention_threshold.
#pragma once

#include <ATen/ATen.h>

#include <limits>

namespace attend {

// Works over the last axis. Weights that are all 0 (a query without keys) are unchanged.
inline at::Tensor cut_weights(const at::Tensor& weights, double threshold) {
  if (threshold == 0) return weights;
  const at::Tensor is_largest = at::zeros_like(weights, at::kBool).scatter(-1, weights.argmax(-1, true), true);
  const at::Tensor kept = weights.masked_fill(weights.lt(threshold).logical_and(is_largest.logical_not()), 0);
  return kept * (weights.sum(-1, true) / kept.sum(-1, true).clamp_min(std::numeric_limits<float>::min()));
}

}  // namespace attend
