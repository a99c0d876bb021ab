// One head of one layer without its weights: its output is zero, and the layer's output that of its other heads alone
// (Michel, Levy and Neubig 2019, arXiv 1905.10650, section 2.3).
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "models/layers/pass.hpp"

namespace attend {

class SilencedHead final : public AttentionEdit {
 public:
  SilencedHead(AttentionPlace place, std::int64_t layer, std::int64_t head)
      : place_(place), layer_(layer), head_(head) {}
  bool edits(AttentionPlace place, std::int64_t layer) const override { return place == place_ && layer == layer_; }
  at::Tensor edit(AttentionPlace /*place*/, std::int64_t /*layer*/, const at::Tensor& weights_BNTS,
                  const Places& /*places*/) const override {
    at::Tensor silenced = weights_BNTS.clone();
    silenced.select(1, head_).zero_();
    return silenced;
  }

 private:
  AttentionPlace place_;
  std::int64_t layer_, head_;
};

}  // namespace attend
