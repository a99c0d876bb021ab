// Silences heads: their weights, and thus their outputs, become 0, so that only the other heads of the layer contribute
// (Michel, Levy and Neubig 2019, arXiv 1905.10650, section 2.3).
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <span>
#include <vector>

#include "models/attention/head_place.hpp"
#include "models/layers/pass.hpp"

namespace attend {

class SilencedHeads final : public AttentionEdit {
 public:
  explicit SilencedHeads(std::span<const HeadPlace> heads) : heads_(heads.begin(), heads.end()) {}

  bool edits(AttentionPlace place, std::int64_t layer) const override {
    return std::ranges::any_of(heads_,
                               [&](const HeadPlace& head) { return head.place == place && head.layer == layer; });
  }
  at::Tensor edit(AttentionPlace place, std::int64_t layer, const at::Tensor& weights_BNTS,
                  const Places& /*places*/) const override {
    at::Tensor edited_BNTS = weights_BNTS.clone();
    for (const HeadPlace& head : heads_) {
      if (head.place == place && head.layer == layer) edited_BNTS.select(1, head.head).zero_();
    }
    return edited_BNTS;
  }

 private:
  std::vector<HeadPlace> heads_;
};

}  // namespace attend
