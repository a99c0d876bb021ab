// From energies to context vectors, for every family: the softmax, and the soft and the hard choice.
#pragma once

#include <torch/types.h>

#include <vector>

#include "models/attention/scopes.hpp"
#include "models/attention/score.hpp"
#include "models/layers/pass.hpp"
#include "models/ops/padded.hpp"

namespace attend {

// The weights of attention, of every family: a_t = softmax_s(e(q_t, k_s)) over the positions of a scope (arXiv
// 1409.0473, eq. 6; 1706.03762, eq. 1), which may shift the energies and scale the weights.

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

// A choice turns weights into context vectors: the third part of attention (score, scope, choice). The soft choice is
// the expectation of the values (arXiv 1409.0473, eq. 5), c = Σ_s a_s value_s; the hard one is below.

class Choice {
 public:
  virtual ~Choice() = default;

  // Weights [..., T, S] and values [..., S, W], fp32, give context vectors [..., T, W], fp32. A choice that samples
  // records it in `sampled`, in the order of the queries.
  virtual torch::Tensor context(const torch::Tensor& weights_TS, const torch::Tensor& values_SW, Pass& pass,
                                SampledChoices& sampled) const = 0;
};

class SoftChoice : public Choice {
 public:
  torch::Tensor context(const torch::Tensor& weights_TS, const torch::Tensor& values_SW, Pass& /*pass*/,
                        SampledChoices& /*sampled*/) const override {
    return torch::matmul(weights_TS, values_SW);
  }
};

// Hard attention (Xu et al. 2015, arXiv 1502.03044, 4.1): the context vector is the value of one position, s ~ a_t in
// training and arg max_s a_t(s) otherwise. Sampling has no gradient; the objective adds that of REINFORCE
// (train/translation/objective.hpp), using the log-probabilities recorded here. To lower the variance, each target
// position takes the expectation instead with probability `soft_share`; in the paper, a whole image does, with
// probability one half.
class HardChoice : public Choice {
 public:
  explicit HardChoice(double soft_share) : soft_share_(soft_share) {}

  torch::Tensor context(const torch::Tensor& weights_TS, const torch::Tensor& values_SW, Pass& pass,
                        SampledChoices& sampled) const override {
    const auto value_at = [&](const torch::Tensor& position_T1) {
      std::vector<std::int64_t> sizes = position_T1.sizes().vec();
      sizes.back() = values_SW.size(-1);
      return values_SW.gather(-2, position_T1.expand(sizes));
    };
    if (!pass.training()) return value_at(weights_TS.argmax(-1, true));
    RandomStream random = pass.random();
    // A local scope scales weights, so that their sum is not 1.
    const torch::Tensor probability_TS = weights_TS / weights_TS.sum(-1, true);
    const torch::Tensor cumulative_TS = probability_TS.detach().cumsum(-1);
    const torch::Tensor draw_T1 = uniform(weights_TS, random) * cumulative_TS.slice(-1, -1);
    const torch::Tensor position_T1 = cumulative_TS.le(draw_T1).sum(-1, true);
    const torch::Tensor log_probability_TS = probability_TS.clamp_min(1e-30).log();
    const torch::Tensor soft_T1 = uniform(weights_TS, random).lt(soft_share_);
    sampled = {.log_probability_R = log_probability_TS.gather(-1, position_T1).masked_fill(soft_T1, 0).flatten(),
               .entropy_R = -(probability_TS * log_probability_TS).sum(-1).flatten()};
    return torch::where(soft_T1, torch::matmul(weights_TS, values_SW), value_at(position_T1));
  }

 private:
  // Uniform in [0, 1), one per query, [..., T, 1]: multiples of 2^-24, since a double just below 1 would be rounded
  // to 1.
  static torch::Tensor uniform(const torch::Tensor& weights_TS, RandomStream& random) {
    const torch::Tensor like_T1 = weights_TS.narrow(-1, 0, 1);
    std::vector<float> numbers(like_T1.numel());
    for (float& number : numbers) number = static_cast<float>(random() >> 40) * 0x1.0p-24F;
    return torch::tensor(numbers).view(like_T1.sizes()).to(weights_TS.device());
  }

  double soft_share_;
};

}  // namespace attend
