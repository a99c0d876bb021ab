// The weights of attention, of every family: a_t = softmax_s(e(q_t, k_s)) over the positions of a scope (arXiv
// 1409.0473, eq. 6; 1706.03762, eq. 1), which may shift the energies and scale the weights.
#pragma once

#include <torch/types.h>

#include "models/attention/scope.hpp"
#include "models/attention/score.hpp"
#include "models/ops/padded.hpp"

namespace attend {

// Queries [..., T, H], prepared keys [..., S, A] in fp32: [..., T, S], fp32. A query without positions has zeros.
inline torch::Tensor attention_weights(const Score& score, const Scope& scope, const torch::Tensor& queries_TH,
                                       const torch::Tensor& keys_SA, const Places& places) {
  const auto [outside_TS, factor_TS, bias_TS] = scope.window(queries_TH, places);
  torch::Tensor energies_TS = score.energies(queries_TH, keys_SA, places);
  if (bias_TS.defined()) energies_TS = energies_TS + bias_TS;
  const torch::Tensor weights_TS = ops::masked_softmax(energies_TS, outside_TS);
  return factor_TS.defined() ? weights_TS * factor_TS : weights_TS;
}

}  // namespace attend
