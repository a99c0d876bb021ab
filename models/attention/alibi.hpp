// Attention with linear biases (Press et al. 2021, arXiv 2108.12409, section 3): the energy of query i at position j
// within a scope is lowered by m |i - j|. As no encodings are added to the embeddings, sentences may be longer than any
// in training. Within a causal scope, i - j is never negative; in an encoder the bias is symmetric.
//
// If n, the number of heads, is a power of two, head h = 1 … n has the slope m = 2^(-8h / n). Otherwise, as in the
// authors' code, the first heads have the slopes of the next lower power of two, and the others every second slope of
// the next higher one.
//
//   8 heads:  1/2, 1/4 … 1/256       3 heads:  1/16, 1/256, 1/4
#pragma once

#include <bit>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "models/attention/by_distance.hpp"

namespace attend {

class AlibiScope : public DistanceScope {
 public:
  // `kept`: which of the `heads` are not pruned, ascending; empty: all.
  AlibiScope(std::shared_ptr<Scope> scope, std::int64_t heads, const std::vector<std::int64_t>& kept = {})
      : DistanceScope(std::move(scope)), slopes_N1_(slopes(heads)) {
    if (!kept.empty()) slopes_N1_ = slopes_N1_.index_select(0, torch::tensor(kept));
  }

  torch::Tensor rows_of(const torch::Tensor& distances_D) const override {
    return (-slopes_N1_ * distances_D.abs()).t().contiguous();
  }

 private:
  static torch::Tensor slopes(std::int64_t heads) {
    const auto lower = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
    const torch::Tensor slopes_N1 = torch::empty({heads, 1});
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t numerator = h < lower ? 8 * (h + 1) : 4 * (2 * (h - lower) + 1);
      slopes_N1[h].fill_(std::exp2(-static_cast<double>(numerator) / static_cast<double>(lower)));
    }
    return slopes_N1;
  }

  torch::Tensor slopes_N1_;
};

}  // namespace attend
