// Attention weights below a threshold are set to 0, so that a reader sees only the positions that matter for a
// translation. The other weights keep their proportions and are scaled to the previous sum. If all are below the
// threshold, the largest stays (the first of equal ones).
//
//   cut_weights({0.5, 0.3, 0.16, 0.04}, 0.05)   {0.52, 0.31, 0.17, 0}
//   cut_weights({0.5, 0.3, 0.16, 0.04}, 0.6)    {1, 0, 0, 0}
#pragma once

#include <ATen/ATen.h>

#include <limits>

#include "models/layers/pass.hpp"

namespace attend {

// Cuts along the last axis. The weights of a query without keys stay 0.
inline at::Tensor cut_weights(const at::Tensor& weights, double threshold) {
  const at::Tensor is_largest = at::zeros_like(weights, at::kBool).scatter(-1, weights.argmax(-1, true), true);
  const at::Tensor kept = weights.masked_fill(weights.lt(threshold).logical_and(is_largest.logical_not()), 0);
  return kept * (weights.sum(-1, true) / kept.sum(-1, true).clamp_min(std::numeric_limits<float>::min()));
}

// Cuts the weights of a decoder's attention to the source; a threshold of 0 leaves all.
class CutWeights final : public AttentionEdit {
 public:
  explicit CutWeights(double threshold) : threshold_(threshold) {}
  bool edits(AttentionPlace place, std::int64_t /*layer*/) const override {
    return threshold_ > 0 && place == AttentionPlace::cross;
  }
  torch::Tensor edit(AttentionPlace /*place*/, std::int64_t /*layer*/, const torch::Tensor& weights_BNTS,
                     const Places& /*places*/) const override {
    return cut_weights(weights_BNTS, threshold_);
  }

 private:
  double threshold_;
};

}  // namespace attend
