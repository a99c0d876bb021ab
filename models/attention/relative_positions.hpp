// Positions in attention itself: biases, keys and rotations by the distance between query and key.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "models/attention/scopes.hpp"
#include "models/layers/layers.hpp"
#include "models/ops/attention.hpp"

namespace attend {

// Attention with linear biases (Press et al. 2021, arXiv 2108.12409, section 3): the energy of query i at position j
// within a scope is lowered by m |i - j|. As no encodings are added to the embeddings, sentences may be longer than any
// in training. Within a causal scope, i - j is never negative; in an encoder the bias is symmetric.
//
// If n, the number of heads, is a power of two, head h = 1 … n has the slope m = 2^(-8h / n). Otherwise, as in the
// authors' code, the first heads have the slopes of the next lower power of two, and the others every second slope of
// the next higher one.
//
//   8 heads:  1/2, 1/4 … 1/256       3 heads:  1/16, 1/256, 1/4
class AlibiScope : public DistanceScope {
 public:
  // `kept`: which of the `heads` are not pruned, ascending; empty: all.
  AlibiScope(std::shared_ptr<Scope> scope, std::int64_t heads, const std::vector<std::int64_t>& kept = {})
      : DistanceScope(std::move(scope)), slopes_N1_(slopes(heads)) {
    if (!kept.empty()) slopes_N1_ = slopes_N1_.index_select(0, torch::tensor(kept));
  }

  torch::Tensor rows_of(const torch::Tensor& distances_D) const override {
    return (-slopes_N1_ * distances_D.abs()).t().contiguous();
  }

 private:
  static torch::Tensor slopes(std::int64_t heads) {
    const auto lower = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
    const torch::Tensor slopes_N1 = torch::empty({heads, 1});
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t numerator = h < lower ? 8 * (h + 1) : 4 * (2 * (h - lower) + 1);
      slopes_N1[h].fill_(std::exp2(-static_cast<double>(numerator) / static_cast<double>(lower)));
    }
    return slopes_N1;
  }

  torch::Tensor slopes_N1_;
};

// Learnt biases (Raffel et al. 2020, arXiv 1910.10683, section 2.1, and its code): head h has a number for each of 32
// buckets of distances. In an encoder, 16 buckets are for positions before the query and 16 for those after it; in a
// causal decoder, all are for the past. The first E = 8 or 16 buckets of a direction have one distance each; the others
// grow logarithmically up to 128, and the last one also covers all farther distances. Each layer has its own biases;
// T5's layers share them.
//
//   b[h][d] = table[h][bucket(d)],  bucket(d) = |d| for |d| < E, else E + floor(E log(|d| / E) / log(128 / E)), < 2E;
//   16 more where d > 0
//
//   encoder:  -1, 1, 7, 8, 16 and 128 are in buckets 1, 17, 23, 24, 26 and 31     decoder:  -8 and -128 in 8 and 31
class T5Scope : public DistanceScope {
 public:
  // `width`: H.
  T5Scope(std::shared_ptr<Scope> scope, std::int64_t heads, std::int64_t width, bool causal)
      : DistanceScope(std::move(scope)),
        width_(width),
        causal_(causal),
        table_(register_parameter("table", torch::empty({heads, kBuckets}))) {}

  // Their buckets, [D].
  torch::Tensor rows_of(const torch::Tensor& distances_D) const override {
    std::vector<std::int64_t> buckets;
    const auto* distances = distances_D.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < distances_D.size(0); ++i) buckets.push_back(bucket(distances[i]));
    return torch::tensor(buckets, torch::kLong);
  }
  torch::Tensor biases_DN(const torch::Tensor& buckets_D) const override {
    return torch::embedding(table_.t(), buckets_D);
  }

  // As in T5, with variance 1 / width.
  void initialise(RandomStream& random) override {
    fill_normal(table_, 1 / std::sqrt(static_cast<double>(width_)), random);
  }
  ParameterTraits traits_of(const torch::Tensor& /*parameter*/) const override { return {.role = ParameterRole::bias}; }

 private:
  static constexpr std::int64_t kBuckets = 32, kFarthest = 128;

  std::int64_t bucket(std::int64_t distance) const {
    const std::int64_t buckets = causal_ ? kBuckets : kBuckets / 2;  // of this direction
    const std::int64_t first = !causal_ && distance > 0 ? buckets : 0;
    const std::int64_t d = causal_ ? std::max<std::int64_t>(0, -distance) : std::abs(distance);
    const std::int64_t exact = buckets / 2;
    if (d < exact) return first + d;
    // Binary logarithms are exact at powers of two.
    const auto times = [&](std::int64_t x) { return std::log2(static_cast<double>(x) / static_cast<double>(exact)); };
    const auto more = static_cast<std::int64_t>(static_cast<double>(exact) * times(d) / times(kFarthest));
    return first + std::min(exact + more, buckets - 1);
  }

  std::int64_t width_;
  bool causal_;
  torch::Tensor table_;  // [N, 32]
};

// Relative positions (Shaw et al. 2018, arXiv 1803.02155, eq. 3 to 5): each clipped distance c = clip(j - i, ±16) from
// query i to position j has a learnt key a^K_c and a learnt value a^V_c, which the heads of a layer share:
//
//   e_ij = q_iᵀ (k_j + a^K_c) / sqrt(D),  z_i = Σ_j w_ij (v_j + a^V_c)
//
// q_iᵀ a^K is computed once per distance, not per pair; weights are summed by distance before their product with a^V.
// Within a causal scope, c is never positive.
//
// Legend: docs/architecture.md; C clipped distances.
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
  ParameterTraits traits_of(const torch::Tensor& /*parameter*/) const override {
    return {.role = ParameterRole::table};
  }

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

// The relative positions of Transformer-XL (Dai et al. 2019, arXiv 1901.02860, section 3.3): the energy of query i at
// position j is the sum of two products, one with the token at j, the other with the sinusoids R of the distance,
// projected for each head:
//
//   e_ij = ((W_q x_i + u)ᵀ W_kE x_j + (W_q x_i + v)ᵀ W_kR R_(i-j)) / sqrt(D)
//
// u is the bias of the projection of queries, which they already contain; so this scope adds v - u, which it learns in
// place of v. Each layer has its own u, v and W_kR; the paper's layers share u and v.
//
// The matrix product with fewer multiplications comes first: W_kR R, or with few queries, as in a step of decoding,
// (W_q x_i + v)ᵀ W_kR.
//
// Legend: docs/architecture.md; C distances.
class TransformerXlScope : public Scope {
 public:
  // `scope` has no parameters; `width`: D; `columns`: H, the width of the sinusoids.
  TransformerXlScope(std::shared_ptr<Scope> scope, std::int64_t heads, std::int64_t width, std::int64_t columns,
                     bool causal)
      : scope_(register_module("within", std::move(scope))),
        sinusoids_(register_module("sinusoids", RowTable([columns](std::int64_t first, std::int64_t length) {
                                     return sinusoids(1 - first - length, length, columns).flip(0);
                                   }))),
        causal_(causal),
        positions_(register_parameter("positions", torch::empty({heads, width, columns}))),
        bias_(register_parameter("bias", torch::empty({heads, 1, width}))) {}

  // The bias is [..., N, T, S].
  Window window(const torch::Tensor& queries_TH, const Places& places) const override {
    Window result = scope_->window(queries_TH, places);
    const std::int64_t longest = places.padding_1S.size(-1), ahead = causal_ ? 0 : longest - 1;
    const torch::Tensor energies_TC = energies(queries_TH, longest, longest + ahead);
    std::vector<std::int64_t> sizes = queries_TH.sizes().vec();
    sizes.back() = longest;
    const torch::Tensor columns_TS = places.distances_TS(queries_TH.size(-2)) + (longest - 1);
    result.add_bias(energies_TC.gather(-1, columns_TS.clamp_max(longest - 1 + ahead).expand(sizes)));
    return result;
  }

  // For the newest query.
  bool describe_heads(ops::HeadsForm& form) const override {
    if (!form.newest_RH.defined() || !scope_->describe_heads(form)) return false;
    const torch::Tensor queries_RN1D = form.newest_RH.to(torch::kFloat).unflatten(1, {bias_.size(0), 1, -1});
    form.biases_RNL = energies(queries_RN1D, form.longest, form.longest).squeeze(2);
    return true;
  }

  // W_kR by Xavier's rule.
  void initialise(RandomStream& random) override {
    const torch::NoGradGuard no_grad;
    fill_uniform(positions_, std::sqrt(6 / static_cast<double>(positions_.size(1) + positions_.size(2))), random);
    bias_.zero_();
  }
  ParameterTraits traits_of(const torch::Tensor& parameter) const override {
    if (parameter.is_same(bias_)) return {.role = ParameterRole::bias};
    return {.stacked = positions_.size(0)};
  }

 private:
  // The second product of the equation for queries [..., N, T, D] at `count` distances j - i, 1 - longest and up:
  // [..., N, T, C].
  torch::Tensor energies(const torch::Tensor& queries_TD, std::int64_t longest, std::int64_t count) const {
    const torch::Tensor distances_HC = sinusoids_->rows(1 - longest, count).t();
    const torch::Tensor by_heads_TD = queries_TD.movedim(-3, 0);
    const double scale = 1 / std::sqrt(static_cast<double>(bias_.size(2)));
    const torch::Tensor asked_NQD = (by_heads_TD.flatten(1, -2) + bias_) * scale;
    const std::int64_t Q = asked_NQD.size(1), D = positions_.size(1), H = positions_.size(2), C = count;
    const torch::Tensor energies_NQC = Q * H * (D + C) < C * D * (H + Q)
                                           ? asked_NQD.matmul(positions_).matmul(distances_HC)
                                           : asked_NQD.matmul(positions_.matmul(distances_HC));
    std::vector<std::int64_t> sizes = by_heads_TD.sizes().vec();
    sizes.back() = count;
    return energies_NQC.view(sizes).movedim(0, -3);
  }

  std::shared_ptr<Scope> scope_;
  RowTable sinusoids_;
  bool causal_;
  torch::Tensor positions_;  // W_kR, [N, D, H]
  torch::Tensor bias_;       // v - u, [N, 1, D]
};

// Rotary positions (Su et al. 2021, arXiv 2104.09864, eq. 34): in the queries and keys of position t, columns 2p and
// 2p + 1 of a head, read as a complex number, are multiplied by exp(i t θ_p), θ_p = 10000^(-2p / D). This preserves
// norms, and the positions enter the product of a query and a key only by their distance. Values are not turned.
//
//   D = 2, θ_0 = 1:  (1 0) at position 1 becomes (cos 1, sin 1) = (0.54 0.84)
//
// Legend: docs/architecture.md; P = D / 2 pairs of columns; X of the parts q, k and v.
class Rotary {
 public:
  // `width`: D, even.
  Rotary(torch::nn::Module& module, std::int64_t width)
      : factors_(module.register_module("turns", RowTable([width](std::int64_t first, std::int64_t length) {
                                          const torch::Tensor pairs_TP2 =  // sine, cosine
                                              sinusoids(first, length, width).unflatten(1, {-1, 2});
                                          const torch::Tensor turns_TP =
                                              at::complex(pairs_TP2.select(2, 1), pairs_TP2.select(2, 0));
                                          return at::stack({turns_TP, turns_TP, at::ones_like(turns_TP)}, 1);
                                        }))) {}

  // The factors of `length` positions from `first`, for the pairs of q | k | v of every head: [length, 3, P], complex.
  torch::Tensor factors(std::int64_t first, std::int64_t length) const { return factors_->rows(first, length); }

  // Turns the queries and keys, in fp32. The factors are those of each row's position, or [1, 3, P] for all rows.
  ops::QueriesKeysValues turned(const ops::QueriesKeysValues& rows, const torch::Tensor& of_queries_M3P,
                                const torch::Tensor& of_keys_M3P) const {
    if (!rows.second.defined()) return {.first = turned(rows.first, of_queries_M3P)};
    return {.first = turned(rows.first, of_queries_M3P.narrow(1, 0, 1)),
            .second = turned(rows.second, of_keys_M3P.narrow(1, 1, rows.third.defined() ? 1 : 2)),
            .third = rows.third};
  }

 private:
  // Turns all X parts in one product; separate products would copy them and join their gradients.
  static torch::Tensor turned(const torch::Tensor& x_MC, const torch::Tensor& factors_MXP) {
    const torch::Tensor pairs_MXNP =
        at::view_as_complex(x_MC.to(at::kFloat).unflatten(1, {factors_MXP.size(1), -1, factors_MXP.size(2), 2}));
    return at::view_as_real(pairs_MXNP * factors_MXP.unsqueeze(2)).flatten(1).to(x_MC.scalar_type());
  }

  RowTable factors_;
};

}  // namespace attend
