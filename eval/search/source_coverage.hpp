// The attention that each source position has received, and the coverage penalty of Wu et al. 2016 (arXiv 1609.08144,
// eq. 14):
//
//   cp(x; y) = sum_i log min(sum_j a_ij, 1)
//
// a_ij: the weight of source position i, its end of sentence included, when target token j was predicted, in the
// decoder's last layer, averaged over heads. Hard attention counts with the probabilities of its positions. A sum below
// 10^-6, as of a position outside of a local scope, counts as 10^-6.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>

#include "models/layers/pass.hpp"

namespace attend {

class SourceCoverage final : public Observer {
 public:
  bool wants_attention(AttentionPlace place, std::int64_t /*layer*/) const override {
    return place == AttentionPlace::cross;
  }
  void on_attention(AttentionPlace place, std::int64_t layer, const torch::Tensor& weights_RN1S) override;

  // Keeps these rows, in this order; called before a step.
  void select(std::span<const std::int64_t> rows);
  // Counts the attention of a step that was observed. UserError if there was none.
  void add_step();
  // cp of a row whose source has `src_length` positions.
  double penalty(std::int64_t row, std::int64_t src_length) const;

 private:
  torch::Tensor weights_RN1S_;  // of the last layer so far in this step
  torch::Tensor sums_RS_;
};

}  // namespace attend
