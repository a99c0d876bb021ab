// The additive score (Bahdanau et al. 2014, arXiv 1409.0473, A.1.2), which is Luong's concat (1508.04025, 3.1):
// score(q, h_s) = vᵀ tanh(W q + U h_s). The keys U h_s are computed once per sentence.
//
//   W q = (1 0), U h_s = (-1 0), (1 1), v = (1 1):  energies tanh(0) + tanh(0) = 0, tanh(2) + tanh(1) = 1.73,
//   weights 0.15, 0.85
#pragma once

#include "models/attention/score.hpp"

namespace attend {

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

}  // namespace attend
