// A gate for each head, by which its weights are multiplied, and thus its output (Michel, Levy and Neubig 2019, arXiv
// 1905.10650, section 2.3). A head with the gate 0 is silenced: the layer's output is that of its other heads alone.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "models/attention/head_place.hpp"
#include "models/layers/pass.hpp"

namespace attend {

// The weights of each head of a layer times its gate, [n], which may be part of a graph. Heads from n on have gate 1.
inline at::Tensor gated(const at::Tensor& weights_BNTS, const at::Tensor& gates_N) {
  const std::int64_t missing = weights_BNTS.size(1) - gates_N.size(0);
  return weights_BNTS * at::constant_pad_nd(gates_N.to(weights_BNTS.device()), {0, missing}, 1).view({-1, 1, 1});
}

class HeadGates final : public AttentionEdit {
 public:
  // The gates of a layer, as gated() reads them; layers without any are not edited.
  void set(AttentionPlace place, std::int64_t layer, at::Tensor gates_N) {
    gates_.insert_or_assign({place, layer}, std::move(gates_N));
  }
  // Silences these heads.
  static HeadGates silencing(std::span<const HeadPlace> heads) {
    HeadGates result;
    for (const auto& [place, layer, head] : heads) {
      at::Tensor& gates_N = result.gates_[{place, layer}];
      if (!gates_N.defined()) gates_N = at::ones({0});
      gates_N = at::constant_pad_nd(gates_N, {0, std::max<std::int64_t>(0, head + 1 - gates_N.size(0))}, 1);
      gates_N.select(0, head).zero_();
    }
    return result;
  }

  bool edits(AttentionPlace place, std::int64_t layer) const override { return gates_.contains({place, layer}); }
  at::Tensor edit(AttentionPlace place, std::int64_t layer, const at::Tensor& weights_BNTS,
                  const Places& /*places*/) const override {
    return gated(weights_BNTS, gates_.at({place, layer}));
  }

 private:
  std::map<std::pair<AttentionPlace, std::int64_t>, at::Tensor> gates_;
};

}  // namespace attend
