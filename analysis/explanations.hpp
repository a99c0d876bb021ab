// Explanations of a prediction by the attention of all layers, and how well two explanations agree.
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <vector>

namespace attend {

// Kendall's τ-b of two rankings, which accounts for ties, and its two-sided p-value under no association: exact without
// ties in at most 33 items, else by the normal distribution with the variance of ties (Kendall 1970, Rank Correlation
// Methods, chapters 3 to 5; as in SciPy). Both are NaN if one side is constant or has fewer than two items. (1, 2, 3,
// 4) and (1, 3, 2, 4) have τ = 4 / 6.
struct RankAgreement {
  double tau = 0;
  double p = 1;
};
RankAgreement kendall_tau_b(std::span<const double> a, std::span<const double> b);

// Attention rollout (Abnar and Zuidema 2020, arXiv 2005.00928, section 3): the product Ã_l … Ã_1 with Ã = (A + I) / 2.
// `layers_TT` are the weights A of every layer, averaged over its heads, the lowest first. Row t of the result, [T, T],
// fp64, is the share of each input token in token t of the last layer.
torch::Tensor attention_rollout(std::span<const torch::Tensor> layers_TT);

// Attention flow (ibid.): for each token of the input, the maximum flow from token `from` of the last layer to it,
// through edges with the capacities Ã, by Dinic's algorithm (1970). At most 1, which many tokens reach in models of
// many layers. Time grows faster than T³.
std::vector<double> attention_flow(std::span<const torch::Tensor> layers_TT, std::int64_t from);

}  // namespace attend
