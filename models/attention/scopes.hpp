// The scopes: the positions that each query attends to.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "models/layers/layers.hpp"
#include "models/layers/pass.hpp"
#include "models/ops/attention.hpp"
#include "models/ops/recurrent.hpp"

namespace attend {

// A scope determines which positions each query attends to, and may scale their weights or shift their energies: the
// second part of attention (score, scope, choice). Global attention uses all positions (arXiv 1508.04025, 3.1), causal
// attention those up to the query's own (1706.03762, 3.2.3); the local scopes follow.

struct Window {
  torch::Tensor outside_TS;      // true where a query does not attend: after the sentence, and outside the window
  torch::Tensor factor_TS = {};  // multiplies the weights, after the softmax; undefined: 1
  torch::Tensor bias_TS = {};    // added to the energies, may be -infinity; undefined: 0

  // softmax(energies + bias) over the positions that are not outside; zeros if there are none.
  torch::Tensor softmax(const torch::Tensor& energies_TS) const {
    return ops::masked_softmax(bias_TS.defined() ? energies_TS + bias_TS : energies_TS, outside_TS);
  }
  torch::Tensor scaled(const torch::Tensor& weights_TS) const {
    return factor_TS.defined() ? weights_TS * factor_TS : weights_TS;
  }

  void add_bias(const torch::Tensor& more_TS) { bias_TS = bias_TS.defined() ? bias_TS + more_TS : more_TS; }
};

class Scope : public Layer {
 public:
  // The window of queries [..., T, H].
  virtual Window window(const torch::Tensor& queries_TH, const Places& places) const = 0;

  // The context vectors of weights [..., T, S] and values [..., S, W]: [..., T, W].
  virtual torch::Tensor context(const torch::Tensor& weights_TS, const torch::Tensor& values_SW,
                                const Places& /*places*/) const {
    return torch::matmul(weights_TS, values_SW);
  }

  // True if every query attends to its whole sentence, without factor or bias.
  virtual bool is_global() const { return false; }

  // Adds this scope to the `form` of fused ops (ops/recurrent.hpp; ops/attention.hpp), which is global at first; false
  // if they do not support it.
  virtual bool describe(ops::AttentionForm& /*form*/) const { return false; }
  virtual bool describe_heads(ops::HeadsForm& /*form*/) const { return false; }

  // Overridden by scopes with parameters outside linear maps.
  void initialise(RandomStream& /*random*/) override {}
};

class GlobalScope : public Scope {
 public:
  Window window(const torch::Tensor& /*queries_TH*/, const Places& places) const override {
    return {.outside_TS = places.outside_TS()};
  }
  bool is_global() const override { return true; }
  bool describe(ops::AttentionForm& /*form*/) const override { return true; }
  bool describe_heads(ops::HeadsForm& /*form*/) const override { return true; }
};

class CausalScope : public Scope {
 public:
  Window window(const torch::Tensor& queries_TH, const Places& places) const override {
    if (places.both_sides) return {.outside_TS = places.outside_TS()};
    const torch::Tensor ahead_TS = places.positions_S().gt(places.numbers_T1(queries_TH.size(-2)));
    return {.outside_TS = places.outside_TS().logical_or(ahead_TS)};
  }
  bool describe_heads(ops::HeadsForm& form) const override {
    form.causal = true;
    return true;
  }
};

// Local attention with monotonic alignment (Luong et al. 2015, arXiv 1508.04025, 3.2, local-m): target position t
// attends to source positions [p - D, p + D] around p = t, or around the last position if the source is shorter.
//
//   D = 1, a source of 4 words:  step 0 attends to 0 1, step 1 to 0 1 2, step 9 to 2 3
class LocalMonotonicScope : public Scope {
 public:
  explicit LocalMonotonicScope(std::int64_t half_width) : half_width_(half_width) {}

  Window window(const torch::Tensor& queries_TH, const Places& places) const override {
    const torch::Tensor centres_T1 = places.numbers_T1(queries_TH.size(-2)).minimum(places.lengths_11() - 1);
    const torch::Tensor distances_TS = places.positions_S() - centres_T1;
    return {.outside_TS = places.outside_TS() | distances_TS.abs().gt(half_width_)};
  }
  bool describe(ops::AttentionForm& form) const override {
    form.half_width = half_width_;
    return true;
  }

 private:
  std::int64_t half_width_;  // D
};

// Local attention with predictive alignment (Luong et al. 2015, arXiv 1508.04025, 3.2, local-p): for a source of S
// words, the query predicts the centre p_t = S σ(v_pᵀ tanh(W_p h_t)) (eq. 9). It attends to positions within D of p_t,
// with weights scaled by a Gaussian, a_t(s) = align(h_t, h_s) exp(-(s - p_t)² / (2 σ²)), σ = D / 2 (eq. 10).
//
//   D = 2, p_t = 1.5, four words:  positions 0 to 3, factors 0.32, 0.88, 0.88, 0.32
class LocalPredictiveScope : public Scope {
 public:
  LocalPredictiveScope(std::int64_t query_width, std::int64_t half_width)
      : half_width_(half_width),
        inner_(register_module("inner", Linear(LinearConfig{.in = query_width, .out = query_width, .bias = false}))),
        centre_(register_module("centre", Linear(LinearConfig{.in = query_width, .out = 1, .bias = false}))) {}

  Window window(const torch::Tensor& queries_TH, const Places& places) const override {
    const torch::Tensor share_T1 =
        torch::sigmoid(centre_->forward(inner_->forward(queries_TH, ops::Activation::tanh)).to(torch::kFloat));
    const torch::Tensor distances_TS = places.positions_S() - places.lengths_11() * share_T1;
    const double deviation = static_cast<double>(half_width_) / 2;
    return {.outside_TS = places.outside_TS() | distances_TS.detach().abs().gt(half_width_),
            .factor_TS = torch::exp(distances_TS.square() / (-2 * deviation * deviation))};
  }
  bool describe(ops::AttentionForm& form) const override {
    form.half_width = half_width_;
    form.inner_HH = &inner_->weight;
    form.centre_1H = &centre_->weight;
    return true;
  }

 private:
  std::int64_t half_width_;  // D
  Linear inner_;             // W_p
  Linear centre_;            // v_p
};

// Biases by distance: a scope around another one that adds b[h][j - i] to the energy of query i at position j in head
// h. Subclasses define b; the biases of nested scopes are added.
//
// Legend: docs/architecture.md; D distances.
class DistanceScope : public Scope {
 public:
  explicit DistanceScope(std::shared_ptr<Scope> scope)
      : scope_(register_module("within", std::move(scope))),
        rows_(register_module("distances", RowTable([this](std::int64_t first, std::int64_t length) {
                                return rows_of(torch::arange(first, first + length, torch::kLong));
                              }))) {}

  // The rows of distances (int64, on the CPU) that are computed once, independent of parameters.
  virtual torch::Tensor rows_of(const torch::Tensor& distances_D) const = 0;
  // The biases of distances with the given rows: fp32, [D, N], or [D, 1] if all heads have the same. That of distance 0
  // is finite.
  virtual torch::Tensor biases_DN(const torch::Tensor& rows_D) const { return rows_D; }
  // The half width of the window that is all that the biases express; 0: they express more.
  virtual std::int64_t half_width() const { return 0; }

  // The bias is [..., N, T, S].
  Window window(const torch::Tensor& queries_TH, const Places& places) const override {
    Window result = scope_->window(queries_TH, places);
    const std::int64_t longest = places.padding_1S.size(-1);
    const torch::Tensor columns_TS = places.distances_TS(queries_TH.size(-2)) + (longest - 1);
    result.add_bias(ops::numbers_of_heads(all_ND(longest), columns_TS));
    return result;
  }

  bool describe_heads(ops::HeadsForm& form) const override {
    if (!scope_->describe_heads(form)) return false;
    form.add_biases(all_ND(form.longest), half_width());
    return true;
  }

 private:
  // Of the distances -(longest - 1) … longest - 1.
  torch::Tensor all_ND(std::int64_t longest) const { return biases_DN(rows_->rows(1 - longest, 2 * longest - 1)).t(); }

  std::shared_ptr<Scope> scope_;
  RowTable rows_;
};

// Local self-attention: each query attends to positions within D of its own (Beltagy et al. 2020, arXiv 2004.05150,
// section 3.1; Luong et al. 2015, arXiv 1508.04025, section 3.2): b = 0 up to the distance D, -infinity beyond.
//
//   D = 1, four words:  the third sees the second to the fourth; in a causal decoder the second and itself
class SelfWindowScope : public DistanceScope {
 public:
  SelfWindowScope(std::shared_ptr<Scope> scope, std::int64_t half_width)
      : DistanceScope(std::move(scope)), half_width_(half_width) {}

  torch::Tensor rows_of(const torch::Tensor& distances_D) const override {
    const torch::Tensor outside_D1 = distances_D.abs().gt(half_width_).unsqueeze(1);
    return torch::zeros(outside_D1.sizes()).masked_fill_(outside_D1, -std::numeric_limits<float>::infinity());
  }
  std::int64_t half_width() const override { return half_width_; }

 private:
  std::int64_t half_width_;  // D
};

}  // namespace attend
