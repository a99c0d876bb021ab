// The random Synthesizer (Tay et al. 2020, arXiv 2005.00743, section 3.2): the energy of query i at position j is the
// number R[i, j] of a table, independent of the tokens. Every head has its own table, which is initialised with
// standard normal numbers and is learnt (random) or stays fixed (fixed-random). The tables have L rows and columns; the
// last ones also serve all later positions. Neither queries nor keys are read.
//
//   R = (0 1; 2 0), the second query:  energies 2, 0, weights 0.88, 0.12
#pragma once

#include "models/attention/score.hpp"
#include "models/ops/padded.hpp"

namespace attend {

enum class TableUse { learnt, fixed };

class RandomSynthesizer : public KeylessScore {
 public:
  RandomSynthesizer(const ScoreWidths& config, TableUse use) {
    const torch::Tensor energy = torch::empty({config.heads, config.longest, config.longest});
    energy_NLL_ = use == TableUse::learnt ? register_parameter("energy", energy) : register_buffer("energy", energy);
  }

  torch::Tensor energies(const torch::Tensor& queries_TH, const torch::Tensor& keys_SA,
                         const Places& places) const override {
    const std::int64_t length = energy_NLL_.size(1), last = length - 1;
    const torch::Tensor columns_S = places.positions_S().clamp_max(last);
    const torch::Tensor rows_T1 = places.numbers_T1(queries_TH.size(-2)).clamp_max(last);
    return ops::numbers_of_heads(energy_NLL_.flatten(1), rows_T1 * length + columns_S)
        .expand(shape_of_energies(queries_TH, keys_SA));
  }
  void initialise(RandomStream& random) override { fill_normal(energy_NLL_, 1, random); }
  ParameterRole role_of(const torch::Tensor& /*parameter*/) const override { return ParameterRole::table; }

 private:
  torch::Tensor energy_NLL_;  // R
};

}  // namespace attend
