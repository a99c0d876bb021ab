// The kernel of linear attention (Katharopoulos et al. 2020, arXiv 2006.16236, eq. 7) as a score: weights are
// proportional to φ(h_t)ᵀ φ(W h_s), φ(x) = elu(x) + 1 > 0, whose logarithm is the energy. The keys are φ(W h_s).
//
// As weights are products, all queries share the sums over positions, and the cost is linear in the length of a
// sentence (eq. 5): context_t = φ(h_t)ᵀ Σ_s φ(W h_s) v_sᵀ / φ(h_t)ᵀ Σ_s φ(W h_s). Not included: the causal form, which
// needs the sums up to each position; the self-attention of decoders computes the weights.
//
//   h_t = (1 0), W h_s = (1 0), (0 1):  φ(h_t) = (2 1), products 5, 4, energies 1.61, 1.39, weights 0.56, 0.44
#pragma once

#include <limits>

#include "models/attention/score.hpp"

namespace attend {

class Elu1Score : public Score {
 public:
  explicit Elu1Score(const ScoreWidths& config)
      : key_(add_map("key", config, config.memory_width, config.query_width)) {}

  // In fp32: bf16 would lose small features.
  torch::Tensor prepare(const torch::Tensor& memory_SW) const override { return phi(key_->forward(memory_SW)); }
  torch::Tensor energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA,
                         const Places& /*places*/) const override {
    const torch::Tensor products_TS = torch::matmul(phi(queries_TH), keys_SA.transpose(-2, -1));
    return torch::log(products_TS.clamp_min(std::numeric_limits<float>::min()));  // padded keys may be 0
  }
  bool keeps_prepared_keys() const override { return true; }
  torch::Tensor fused_queries(const torch::Tensor& queries_MH) const override { return phi(queries_MH); }
  std::optional<ops::HeadEnergy> head_energy() const override {
    return ops::HeadEnergy{ops::HeadEnergy::Kind::log_product};
  }
  // Eq. 5, for sentences so long that the sums cost less than the weights.
  std::optional<torch::Tensor> context(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA,
                                       const torch::Tensor& values_SW, const torch::Tensor& padding_1S) const override {
    const std::int64_t T = queries_TH.size(-2), S = keys_SA.size(-2);
    if (2 * T * S < keys_SA.size(-1) * (T + S)) return std::nullopt;
    const torch::Tensor features_AS = keys_SA.transpose(-2, -1).masked_fill(padding_1S, 0);
    const torch::Tensor queries_TA = phi(queries_TH);
    const torch::Tensor sums_TW = torch::matmul(queries_TA, torch::matmul(features_AS, values_SW));
    const torch::Tensor norms_T1 = torch::matmul(queries_TA, features_AS.sum(-1, /*keepdim=*/true));
    return sums_TW / norms_T1.masked_fill(norms_T1.lt(std::numeric_limits<float>::min()), 1);  // 0 without positions
  }

 private:
  static torch::Tensor phi(const torch::Tensor& x) { return torch::elu(x.to(torch::kFloat)) + 1; }

  HeadLinear key_;  // W
};

}  // namespace attend
