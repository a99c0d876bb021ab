// The dense Synthesizer (Tay et al. 2020, arXiv 2005.00743, section 3.1): the energies of a query depend on its own
// token alone, energies_t = W2 relu(q_t), q_t = W1 x_t + b1. Every head has its own W1, which is the projection of
// queries, and its own W2, whose row s gives the energy of position s. W2 has L rows; the last one also serves all
// later positions. Keys are not read. Rotary positions, which would turn q_t, are not for its mixture with attention.
//
//   q_t = (1 -2), W2 = (0 1; 1 0; 2 0), three positions:  relu (1 0), energies 0, 1, 2, weights 0.09, 0.24, 0.67
#pragma once

#include "models/attention/score.hpp"

namespace attend {

class DenseSynthesizer : public KeylessScore {
 public:
  explicit DenseSynthesizer(const ScoreWidths& config)
      : longest_(config.longest), energy_(add_map("energy", config, config.query_width, config.longest)) {}

  torch::Tensor energies(const torch::Tensor& queries_TH, const torch::Tensor& /*keys_SA*/,
                         const Places& places) const override {
    const torch::Tensor rows_S = places.positions_S().clamp_max(longest_ - 1);
    const torch::Tensor own_SH = energy_->matrices_NOI().index_select(-2, rows_S);
    return torch::matmul(torch::relu(queries_TH.to(torch::kFloat)), own_SH.transpose(-2, -1));
  }

 private:
  std::int64_t longest_;
  HeadLinear energy_;  // W2, [N * L, H]
};

}  // namespace attend
