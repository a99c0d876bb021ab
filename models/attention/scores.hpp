// The scores, a class each (parts.hpp makes them): how well a position s matches a query at step t, before the softmax.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/error.hpp"
#include "models/attention/score.hpp"

namespace attend {

// The dot score (arXiv 1508.04025, 3.1): score(h_t, h_s) = h_tᵀ h_s. The memory must have the width of the decoder's
// states.
//
//   h_t = (1 2), h_s = (1 0), (0 1):  energies 1, 2, weights 0.27, 0.73
class DotScore : public Score {
 public:
  torch::Tensor prepare(const torch::Tensor& memory_SW) const override { return memory_SW; }
  torch::Tensor energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA,
                         const Places& /*places*/) const override {
    return torch::matmul(queries_TH.to(torch::kFloat), keys_SA.transpose(-2, -1));
  }
  bool describe(ops::AttentionForm& /*form*/) const override { return true; }
  std::optional<ops::HeadEnergy> head_energy() const override {
    return ops::HeadEnergy{ops::HeadEnergy::Kind::product};
  }
};

// Scaled dot products (Vaswani et al. 2017, arXiv 1706.03762, eq. 1) as a score: score(h_t, h_s) = h_tᵀ h_s / sqrt(A),
// so that energies do not grow with the width. The keys include the factor, so a step needs only dot products.
//
//   h_t = (1 2), h_s = (1 0), (0 1):  keys (0.71 0), (0 0.71), energies 0.71, 1.41, weights 0.33, 0.67
class ScaledDotScore : public DotScore {
 public:
  torch::Tensor prepare(const torch::Tensor& memory_SW) const override {
    return memory_SW / std::sqrt(static_cast<double>(memory_SW.size(-1)));
  }
  torch::Tensor scale(const torch::Tensor& keys_SA) const override {
    return torch::full({1}, 1 / std::sqrt(static_cast<double>(keys_SA.size(-1))));
  }
  std::optional<ops::HeadEnergy> head_energy() const override { return ops::HeadEnergy{}; }
};

// Luong's general score (arXiv 1508.04025, 3.1): score(h_t, h_s) = h_tᵀ W_a h_s. The keys W_a h_s are computed once per
// sentence, so each step needs only dot products. With the identity as W_a it is the dot score.
//
//   h_t = (1 2), h_s = (1 0), (0 1), W_a = (0 1; 1 0):  keys (0 1), (1 0), energies 2, 1, weights 0.73, 0.27
class GeneralScore : public DotScore {
 public:
  explicit GeneralScore(const ScoreWidths& config)
      : key_(add_map("key", config, config.memory_width, config.query_width)) {}

  torch::Tensor prepare(const torch::Tensor& memory_SW) const override { return key_->forward(memory_SW); }
  // h_tᵀ (W_a h_s) = (W_aᵀ h_t)ᵀ h_s: a decoder maps the query of a step, not the keys of all previous steps.
  torch::Tensor fused_queries(const torch::Tensor& queries_MH) const override {
    return key_->transposed(queries_MH).to(queries_MH.scalar_type());
  }

 private:
  HeadLinear key_;  // W_a
};

// The additive score (Bahdanau et al. 2014, arXiv 1409.0473, A.1.2), which is Luong's concat (1508.04025, 3.1):
// score(q, h_s) = vᵀ tanh(W q + U h_s). The keys U h_s are computed once per sentence.
//
//   W q = (1 0), U h_s = (-1 0), (1 1), v = (1 1):  energies tanh(0) + tanh(0) = 0, tanh(2) + tanh(1) = 1.73,
//   weights 0.15, 0.85
class AdditiveScore : public Score {
 public:
  // The inner width is that of the query.
  explicit AdditiveScore(const ScoreWidths& config)
      : query_(add_map("query", config, config.query_width, config.query_width)),
        key_(add_map("key", config, config.memory_width, config.query_width)),
        energy_(add_map("energy", config, config.query_width, 1)) {}

  torch::Tensor prepare(const torch::Tensor& memory_SW) const override { return key_->forward(memory_SW); }
  torch::Tensor energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA,
                         const Places& /*places*/) const override {
    return ops::additive_energies(query_->forward(queries_TH).to(torch::kFloat), keys_SA, energy_->weight.master());
  }
  bool keeps_prepared_keys() const override { return true; }
  torch::Tensor fused_queries(const torch::Tensor& queries_MH) const override { return query_->of_rows(queries_MH); }
  std::optional<ops::HeadEnergy> head_energy() const override {
    return ops::HeadEnergy{ops::HeadEnergy::Kind::additive, energy_->weight.master()};
  }
  bool describe(ops::AttentionForm& form) const override {
    form.query_AH = &query_->weight;
    form.energy_1A = energy_->weight.master();
    return true;
  }

 private:
  HeadLinear query_;   // W
  HeadLinear key_;     // U
  HeadLinear energy_;  // v, [N, A]
};

// The location score (Luong et al. 2015, arXiv 1508.04025, 3.1): a_t = softmax(W_a h_t), from the decoder's state
// alone. Row s of W_a scores position s of the source, so the length of sources is limited.
//
//   W_a h_t = (0 1 2), a source of two words:  energies 0, 1, weights 0.27, 0.73
class LocationScore : public KeylessScore {
 public:
  explicit LocationScore(const ScoreWidths& config)
      : longest_(config.longest), position_(add_map("position", config, config.query_width, config.longest)) {}

  // Sentences must not exceed the limit (Seq2SeqImpl::longest_source).
  torch::Tensor energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA,
                         const Places& /*places*/) const override {
    const std::int64_t length = keys_SA.size(-2);
    ensure(length <= longest_, "a source has at most as many pieces as the location score has positions");
    return position_->forward(queries_TH).to(torch::kFloat).narrow(-1, 0, length);
  }

 private:
  std::int64_t longest_;
  HeadLinear position_;  // W_a
};

// Cosines with a learnt scale (Henry et al. 2020, arXiv 2010.04245): score(q, k) = g qᵀ k / (‖q‖ ‖k‖), so that
// energies lie within ±g whatever the vectors' lengths. Every head has its own g. As in the paper, g starts at
// log2(L² - L), where L is a length that few training sentences exceed; here L = 32, so g = 9.95. Queries and memory
// must have the same width.
//
//   q = (3 4), k = (1 0), (0 2), g = 10:  cosines 0.6, 0.8, energies 6, 8, weights 0.12, 0.88
class CosineScore : public Score {
 public:
  explicit CosineScore(const ScoreWidths& config) : scale_(register_parameter("scale", torch::empty({config.heads}))) {}

  torch::Tensor prepare(const torch::Tensor& memory_SW) const override { return directions(memory_SW); }

  torch::Tensor energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA,
                         const Places& /*places*/) const override {
    return factor_of_heads(scale_) * torch::matmul(directions(queries_TH), keys_SA.transpose(-2, -1));
  }

  bool keeps_prepared_keys() const override { return true; }
  torch::Tensor fused_queries(const torch::Tensor& queries_MH) const override {
    return by_heads(queries_MH, scale_.size(0), [&](const torch::Tensor& queries_NMA) {
      return scale_.view({-1, 1, 1}) * directions(queries_NMA);
    });
  }
  std::optional<ops::HeadEnergy> head_energy() const override {
    return ops::HeadEnergy{ops::HeadEnergy::Kind::product};
  }
  torch::Tensor scale(const torch::Tensor& /*keys_SA*/) const override { return scale_; }
  void initialise(RandomStream& /*random*/) override {
    const torch::NoGradGuard no_grad;
    scale_.fill_(std::log2(32.0 * 32 - 32));
  }

 private:
  // Vectors of length 1; 0 stays 0.
  static torch::Tensor directions(const torch::Tensor& x) {
    const torch::Tensor values = x.to(torch::kFloat);
    return values / values.norm(2, -1, /*keepdim=*/true).clamp_min(1e-6);
  }

  torch::Tensor scale_;  // g, [N]
};

// A Gaussian kernel as a score, which makes attention the kernel regression of Nadaraya (1964) and Watson (1964):
// score(h_t, h_s) = -b ‖h_t - W h_s‖², so that weights are proportional to exp(-b ‖h_t - W h_s‖²). The precision b > 0
// is parameterised by its logarithm; b starts at 1 / sqrt(A), the factor of scaled dot products.
//
//   h_t = (1 0), W h_s = (1 0), (0 1), b = 1:  energies 0, -2, weights 0.88, 0.12
class RbfScore : public Score {
 public:
  explicit RbfScore(const ScoreWidths& config)
      : key_(add_map("key", config, config.memory_width, config.query_width)),
        log_precision_(register_parameter("log_precision", torch::empty({config.heads}))) {}

  // W h_s with ‖W h_s‖² as an additional last column; fp32.
  torch::Tensor prepare(const torch::Tensor& memory_SW) const override {
    const torch::Tensor mapped_SA = key_->forward(memory_SW).to(torch::kFloat);
    return torch::cat({mapped_SA, mapped_SA.square().sum(-1, true)}, -1);
  }
  torch::Tensor energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA,
                         const Places& /*places*/) const override {
    const torch::Tensor queries_TA = queries_TH.to(torch::kFloat);
    const std::int64_t width = queries_TA.size(-1);
    const torch::Tensor products_TS = torch::matmul(queries_TA, keys_SA.narrow(-1, 0, width).transpose(-2, -1));
    const torch::Tensor squares_TS =
        queries_TA.square().sum(-1, true) + keys_SA.select(-1, width).unsqueeze(-2) - 2 * products_TS;
    return -factor_of_heads(torch::exp(log_precision_)) * squares_TS;
  }
  bool keeps_prepared_keys() const override { return true; }
  // -b ‖q - k‖² + b ‖q‖² = (2b q, -b) · (k, ‖k‖²).
  torch::Tensor fused_queries(const torch::Tensor& queries_MH) const override {
    const torch::Tensor precisions_N11 = torch::exp(log_precision_).view({-1, 1, 1});
    return by_heads(queries_MH, log_precision_.size(0), [&](const torch::Tensor& queries_NMA) {
      const torch::Tensor last_NM1 = -precisions_N11.expand({-1, queries_NMA.size(1), 1});
      return torch::cat({2 * precisions_N11 * queries_NMA, last_NM1}, -1);
    });
  }
  std::optional<ops::HeadEnergy> head_energy() const override {
    return ops::HeadEnergy{ops::HeadEnergy::Kind::product};
  }
  torch::Tensor scale(const torch::Tensor& /*keys_SA*/) const override { return -torch::exp(log_precision_); }
  void initialise(RandomStream& /*random*/) override {
    const torch::NoGradGuard no_grad;
    log_precision_.fill_(-0.5 * std::log(static_cast<double>(key_->matrices_NOI().size(-2))));
  }

 private:
  HeadLinear key_;               // W
  torch::Tensor log_precision_;  // log b, [N]
};

// The kernel of linear attention (Katharopoulos et al. 2020, arXiv 2006.16236, eq. 7) as a score: weights are
// proportional to φ(h_t)ᵀ φ(W h_s), φ(x) = elu(x) + 1 > 0, whose logarithm is the energy. The keys are φ(W h_s).
//
// As weights are products, all queries share the sums over positions, and the cost is linear in the length of a
// sentence (eq. 5): context_t = φ(h_t)ᵀ Σ_s φ(W h_s) v_sᵀ / φ(h_t)ᵀ Σ_s φ(W h_s). Not included: the causal form, which
// needs the sums up to each position; the self-attention of decoders computes the weights.
//
//   h_t = (1 0), W h_s = (1 0), (0 1):  φ(h_t) = (2 1), products 5, 4, energies 1.61, 1.39, weights 0.56, 0.44
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

// No score: all energies are 0, so that the weights are equal and the context is the mean of the values within the
// scope. It reads neither queries nor keys and has no parameters.
//
//   three positions within the scope:  energies 0, 0, 0, weights 0.33, 0.33, 0.33
class UniformScore : public KeylessScore {
 public:
  torch::Tensor energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA,
                         const Places& /*places*/) const override {
    return torch::zeros(shape_of_energies(queries_TH, keys_SA), queries_TH.options().dtype(torch::kFloat));
  }
};

}  // namespace attend
