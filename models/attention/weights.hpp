// What attention computes its weights and context vectors from, for observers; and the choice, which turns weights into
// context vectors.
#pragma once

#include <torch/types.h>

#include <memory>
#include <vector>

#include "models/attention/scopes.hpp"
#include "models/attention/score.hpp"
#include "models/layers/pass.hpp"

namespace attend {

// Coverage (Tu et al. 2016, arXiv 1601.04811, 3.1: one-dimensional linguistic coverage; its fertility is 1 here,
// predicted in the paper): the sum of a position's past weights, C_t(s) = Σ_{u<t} a_u(s), changes its key to
// key_s + C_t(s) w. With the additive score this gives the paper's vᵀ tanh(W q + U h_s + w C_t(s)).
class Coverage : public Layer {
 public:
  explicit Coverage(std::int64_t key_width) : weight_(register_parameter("weight", torch::empty({key_width}))) {}

  torch::Tensor add_to(const torch::Tensor& keys_SA, const torch::Tensor& coverage_S) const {
    return keys_SA + coverage_S.unsqueeze(-1) * weight_;
  }

  // Adds coverage to the form of the fused step (ops/recurrent.hpp).
  void describe(ops::AttentionForm& form) const { form.coverage_A = weight_; }

  void initialise(RandomStream& random) override { fill_uniform(weight_, 0.1, random); }

 private:
  torch::Tensor weight_;  // w
};

// The operands of one layer's attention in a forward pass, padded like its weights; numbers at padding have no meaning.
// From them follow, for each query,
//
//   window = scope(query),  weights = factor softmax(score(query, keys) + bias) within the window; then edited
//   context = Σ_s weights_s values_s, or the value of the largest weight (hard attention)
struct AttentionOperands {
  std::shared_ptr<const Score> score;
  std::shared_ptr<const Scope> scope;
  torch::Tensor queries_BNTH, keys_BNSA, values_BNSW;  // prepared keys; keys and values in fp32
  Places places;
  std::shared_ptr<const Coverage> coverage = {};  // nullptr: none
  torch::Tensor coverage_BNTS = {};               // the sum of past weights
  bool takes_largest = false;                     // hard attention

  // The operands of one query: B = T = 1.
  AttentionOperands of_query(std::int64_t sentence, std::int64_t query) const {
    const auto of_sentence = [&](const torch::Tensor& x) {
      return x.dim() == 4 && x.size(0) > 1 ? x.narrow(0, sentence, 1) : x;
    };
    const auto of_one = [&](const torch::Tensor& x_BNTS) { return of_sentence(x_BNTS).narrow(-2, query, 1); };
    AttentionOperands own = *this;
    own.queries_BNTH = of_one(queries_BNTH);
    own.keys_BNSA = of_sentence(keys_BNSA);
    own.values_BNSW = of_sentence(values_BNSW);
    own.places = {.padding_1S = of_sentence(places.padding_1S),
                  .chosen_T1 = of_one(places.numbers_T1(queries_BNTH.size(2))),
                  .hidden_TS = places.hidden_TS.defined() ? of_one(places.hidden_TS) : torch::Tensor()};
    if (coverage) own.keys_BNSA = coverage->add_to(own.keys_BNSA, of_one(coverage_BNTS).squeeze(2));
    return own;
  }
};

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
