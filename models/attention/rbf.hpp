// A Gaussian kernel as a score, which makes attention the kernel regression of Nadaraya (1964) and Watson (1964):
// score(h_t, h_s) = -b ‖h_t - W h_s‖², so that weights are proportional to exp(-b ‖h_t - W h_s‖²). The precision b > 0
// is parameterised by its logarithm; b starts at 1 / sqrt(A), the factor of scaled dot products.
//
//   h_t = (1 0), W h_s = (1 0), (0 1), b = 1:  energies 0, -2, weights 0.88, 0.12
#pragma once

#include <cmath>
#include <cstdint>

#include "models/attention/score.hpp"

namespace attend {

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

}  // namespace attend
