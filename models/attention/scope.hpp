// A scope says which positions each query attends to, and may scale their weights or shift their energies: the second
// part of attention. Global attention uses all positions (arXiv 1508.04025, 3.1), causal attention those up to the
// query's own (1706.03762, 3.2.3); the local scopes have a file each.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "models/layers/layers.hpp"
#include "models/ops/attention.hpp"
#include "models/ops/recurrent.hpp"

namespace attend {

// Where T queries and S positions stand. Query t is number `first + t` of its sentence; axes of size 1 hold for all
// leading axes.
struct Places {
  torch::Tensor padding_1S;  // [..., 1, S]: true after the end of a sentence
  std::int64_t first = 0;

  torch::Tensor lengths_11() const { return padding_1S.logical_not().sum(-1, true); }  // [..., 1, 1]
  torch::Tensor positions_S() const {
    return torch::arange(padding_1S.size(-1), padding_1S.options().dtype(torch::kLong));
  }
  // The numbers of `count` queries, [T, 1].
  torch::Tensor numbers_T1(std::int64_t count) const {
    return torch::arange(first, first + count, padding_1S.options().dtype(torch::kLong)).unsqueeze(1);
  }
};

struct Window {
  torch::Tensor outside_TS;      // true where a query does not attend: after the sentence, and outside the window
  torch::Tensor factor_TS = {};  // of the weights, after the softmax; undefined: 1
  torch::Tensor bias_TS = {};    // added to the energies; undefined: 0
};

class Scope : public Layer {
 public:
  // The window of queries [..., T, H].
  virtual Window window(const torch::Tensor& queries_TH, const Places& places) const = 0;

  // Says in `form`, which is global, what the fused ops (ops/recurrent.hpp; ops/attention.hpp) need of this scope;
  // false if they do not know it.
  virtual bool describe(ops::AttentionForm& /*form*/) const { return false; }
  virtual bool describe_heads(ops::HeadsForm& /*form*/) const { return false; }

  // Scopes with parameters of their own, not only in linear maps, initialise them.
  void initialise(RandomStream& /*random*/) override {}
};

class GlobalScope : public Scope {
 public:
  Window window(const torch::Tensor& /*queries_TH*/, const Places& places) const override {
    return {.outside_TS = places.padding_1S};
  }
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
