// Learnt gates of attention heads (Voita et al. 2019, arXiv 1905.09418, section 6.1): head h of a layer is multiplied
// by a gate g_h, and training adds a penalty for each head that is open. A gate has the hard concrete distribution
// (Louizos, Welling and Kingma 2018, arXiv 1712.01312, eq. 10 to 13) with one parameter, log α; β = 0.33, γ = -0.1 and
// ζ = 1.1, as in the code of Voita et al. (lena-voita/the-story-of-heads, lib/layers/concrete_gate.py):
//
//   g = clip(s (ζ - γ) + γ, 0, 1),  s = σ((log u - log(1 - u) + log α) / β),  u uniform in (0, 1)    in training
//   g = clip(σ(log α) (ζ - γ) + γ, 0, 1)                                                             otherwise
//   P(g ≠ 0) = σ(log α - β log(-γ / ζ))
//
//   log α = 0: 0.5, open with probability 0.688;  log α = 3, where gates start: 1, 0.978;  log α = -2.4 and below: 0
//
// As in that code, all sentences of a pass share the gates that it draws.
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/random.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/pass.hpp"

namespace attend {

// The gates of one layer.
class LearntGates final : public Layer {
 public:
  LearntGates(AttentionPlace place, std::int64_t heads);

  // The heads' vectors side by side, each times its gate: [M, H].
  torch::Tensor gated(const torch::Tensor& context_MH, Pass& pass) const;

  torch::Tensor sample_N(RandomStream& random) const;  // as in training
  torch::Tensor values_N() const;                      // outside training
  torch::Tensor open_probabilities_N() const;          // P(g ≠ 0)

  AttentionPlace place() const { return place_; }
  void initialise(RandomStream& random) override;

 private:
  AttentionPlace place_;
  torch::Tensor log_alpha_;  // [N]
};

// The gates of one layer; the model owns them.
struct LayerGates {
  AttentionPlace place;
  std::int64_t layer;  // from 0
  const LearntGates* gates;
};
// The gates of all layers, by stack and layer; empty if the model has none.
std::vector<LayerGates> gates_of(const torch::nn::Module& model);

inline bool is_of_gates(std::string_view parameter) { return parameter.ends_with(".gates.log_alpha"); }

// Factor of the learning rate of gates: from open to closed, log α falls by more than 5, for which Adam would need ten
// thousand updates at a rate of 5e-4.
inline constexpr double kGateRate = 100;

}  // namespace attend
