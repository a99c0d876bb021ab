// The attention weights of a forward pass, kept for whoever reads them behind it.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "models/layers/pass.hpp"

namespace attend {

// The weights of one layer; see Observer::see_attention.
struct LayerAttention {
  AttentionPlace place = AttentionPlace::encoder;
  std::int64_t layer = 0;
  torch::Tensor weights_BNTS;
};

class AttentionRecorder : public Observer {
 public:
  void see_attention(AttentionPlace place, std::int64_t layer, const torch::Tensor& weights_BNTS) override {
    layers.push_back({place, layer, weights_BNTS.detach()});
  }

  std::vector<LayerAttention> layers;  // in the order of the pass
};

}  // namespace attend
