// The weights of attention, of every family: a_t = softmax_s(e(q_t, k_s)) over the positions of a scope (arXiv
// 1409.0473, eq. 6; 1706.03762, eq. 1), which may shift the energies and scale the weights.
#pragma once

#include <torch/types.h>

#include "models/attention/scope.hpp"
#include "models/attention/score.hpp"
#include "models/layers/pass.hpp"
#include "models/ops/padded.hpp"

namespace attend {

// The weights [..., T, S], fp32, of queries [..., T, H] and prepared keys [..., S, A] in fp32; zeros for a query
// without positions. `arithmetic`, unless null, receives the intermediate results.
inline torch::Tensor attention_weights(const Score& score, const Scope& scope, const torch::Tensor& queries_TH,
                                       const torch::Tensor& keys_SA, const Places& places,
                                       AttentionArithmetic* arithmetic = nullptr) {
  auto [outside_TS, factor_TS, bias_TS] = scope.window(queries_TH, places);
  if (places.hidden_TS.defined()) outside_TS = outside_TS.logical_or(places.hidden_TS);
  torch::Tensor energies_TS = score.energies(queries_TH, keys_SA, places);
  if (arithmetic != nullptr) {
    const auto whole_TS = [&](const torch::Tensor& x) { return x.defined() ? x.expand_as(energies_TS) : x; };
    *arithmetic = {.energies = energies_TS,
                   .scale = score.scale(keys_SA),
                   .bias = whole_TS(bias_TS),
                   .outside = whole_TS(outside_TS),
                   .factor = whole_TS(factor_TS)};
  }
  if (bias_TS.defined()) energies_TS = energies_TS + bias_TS;
  const torch::Tensor weights_TS = ops::masked_softmax(energies_TS, outside_TS);
  if (arithmetic != nullptr) arithmetic->softmax = weights_TS;
  return factor_TS.defined() ? weights_TS * factor_TS : weights_TS;
}

}  // namespace attend
