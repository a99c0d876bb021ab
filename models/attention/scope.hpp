// A scope determines which positions each query attends to, and may scale their weights or shift their energies: the
// second part of attention (score, scope, choice). Global attention uses all positions (arXiv 1508.04025, 3.1), causal
// attention those up to the query's own (1706.03762, 3.2.3); the local scopes have a file each.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "models/layers/layers.hpp"
#include "models/layers/places.hpp"
#include "models/ops/attention.hpp"
#include "models/ops/recurrent.hpp"

namespace attend {

struct Window {
  torch::Tensor outside_TS;      // true where a query does not attend: after the sentence, and outside the window
  torch::Tensor factor_TS = {};  // multiplies the weights, after the softmax; undefined: 1
  torch::Tensor bias_TS = {};    // added to the energies, may be -infinity; undefined: 0

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
    return {.outside_TS = places.padding_1S};
  }
  bool is_global() const override { return true; }
  bool describe(ops::AttentionForm& /*form*/) const override { return true; }
  bool describe_heads(ops::HeadsForm& /*form*/) const override { return true; }
};

class CausalScope : public Scope {
 public:
  Window window(const torch::Tensor& queries_TH, const Places& places) const override {
    const torch::Tensor ahead_TS = places.positions_S().gt(places.numbers_T1(queries_TH.size(-2)));
    return {.outside_TS = places.padding_1S.logical_or(ahead_TS)};
  }
  bool describe_heads(ops::HeadsForm& form) const override {
    form.causal = true;
    return true;
  }
};

}  // namespace attend
