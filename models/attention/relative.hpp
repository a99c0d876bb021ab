// Relative positions (Shaw et al. 2018, arXiv 1803.02155, eq. 3 to 5): each clipped distance c = clip(j - i, ±16) from
// query i to position j has a learnt key a^K_c and a learnt value a^V_c, which the heads of a layer share:
//
//   e_ij = q_iᵀ (k_j + a^K_c) / sqrt(D),  z_i = Σ_j w_ij (v_j + a^V_c)
//
// q_iᵀ a^K is computed once per distance, not per pair; weights are summed by distance before their product with a^V.
// Within a causal scope, c is never positive.
//
// Legend: docs/architecture.md; C clipped distances.
#pragma once

#include <torch/types.h>

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "models/attention/scope.hpp"

namespace attend {

class RelativeScope : public Scope {
 public:
  // `scope` has no parameters; `width`: D.
  RelativeScope(std::shared_ptr<Scope> scope, std::int64_t width, bool causal)
      : scope_(register_module("within", std::move(scope))),
        farthest_ahead_(causal ? 0 : kFarthest),
        keys_(register_parameter("keys", torch::empty({num_distances(causal), width}))),
        values_(register_parameter("values", torch::empty_like(keys_))) {}

  static constexpr std::int64_t num_distances(bool causal) { return kFarthest + 1 + (causal ? 0 : kFarthest); }

  // The bias is [..., T, S].
  Window window(const torch::Tensor& queries_TH, const Places& places) const override {
    Window result = scope_->window(queries_TH, places);
    const torch::Tensor energies_TC =
        torch::matmul(queries_TH, keys_.t() / std::sqrt(static_cast<double>(keys_.size(1))));
    std::vector<std::int64_t> sizes = queries_TH.sizes().vec();
    sizes.back() = places.padding_1S.size(-1);
    result.add_bias(energies_TC.gather(-1, clipped_TS(places, sizes)));
    return result;
  }

  torch::Tensor context(const torch::Tensor& weights_TS, const torch::Tensor& values_SW,
                        const Places& places) const override {
    std::vector<std::int64_t> sizes = weights_TS.sizes().vec();
    const torch::Tensor row_TS = clipped_TS(places, sizes);
    sizes.back() = values_.size(0);
    const torch::Tensor sums_TC = torch::zeros(sizes, values_.options()).scatter_add(-1, row_TS, weights_TS);
    return scope_->context(weights_TS, values_SW, places) + torch::matmul(sums_TC, values_);
  }

  // For the newest query, at the end of its causal scope.
  bool describe_heads(ops::HeadsForm& form) const override {
    const bool scaled = form.energy.kind == ops::HeadEnergy::Kind::scaled_product;
    if (!form.newest_RH.defined() || farthest_ahead_ > 0 || !scaled || !scope_->describe_heads(form)) return false;
    const torch::Tensor row_L = rows_of(torch::arange(1 - form.longest, 1)).to(keys_.device());
    form.distance_keys = keys_.index_select(0, row_L);
    form.distance_values = values_.index_select(0, row_L);
    return true;
  }

  // By Xavier's rule.
  void initialise(RandomStream& random) override {
    const double bound = std::sqrt(6 / static_cast<double>(keys_.size(0) + keys_.size(1)));
    fill_uniform(keys_, bound, random);
    fill_uniform(values_, bound, random);
  }
  ParameterRole role_of(const torch::Tensor& /*parameter*/) const override { return ParameterRole::table; }

 private:
  static constexpr std::int64_t kFarthest = 16;

  // The rows of distances in a^K and a^V.
  torch::Tensor rows_of(const torch::Tensor& distances) const {
    return distances.clamp(-kFarthest, farthest_ahead_) + kFarthest;
  }
  // The row of each query and position, of the given sizes [..., T, S].
  torch::Tensor clipped_TS(const Places& places, const std::vector<std::int64_t>& sizes) const {
    return rows_of(places.distances_TS(sizes[sizes.size() - 2])).expand(sizes);
  }

  std::shared_ptr<Scope> scope_;
  std::int64_t farthest_ahead_;
  torch::Tensor keys_;    // a^K, [C, D]
  torch::Tensor values_;  // a^V, [C, D]
};

}  // namespace attend
