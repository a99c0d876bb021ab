// A scope restricts the positions of its sentence that a row attends to, and may scale their weights: the second part
// of recurrent attention. Global attention uses all positions (arXiv 1508.04025, 3.1); the local scopes have a file
// each.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "models/attention/memory_rows.hpp"
#include "models/layers/layers.hpp"
#include "models/ops/recurrent.hpp"

namespace attend {

struct Window {
  torch::Tensor outside_RS;  // true where a row does not attend: after its sentence, and outside the window
  torch::Tensor factor_RS;   // factor of the weights after the softmax; undefined: 1
};

class Scope : public Layer {
 public:
  // The window of R rows at the given step (from 0) with query [R, H].
  virtual Window window(const torch::Tensor& query_RH, const MemoryRows& memory, std::int64_t step) const = 0;

  // Says in `form`, which is global, what the fused ops (ops/recurrent.hpp) need of this scope.
  virtual void enter(ops::AttentionForm& form) const = 0;

  // Scopes with parameters of their own, not only in linear maps, initialise them.
  void initialise(RandomStream& /*random*/) override {}
};

class GlobalScope : public Scope {
 public:
  Window window(const torch::Tensor& /*query_RH*/, const MemoryRows& memory, std::int64_t /*step*/) const override {
    return {.outside_RS = memory.padding_RS(), .factor_RS = {}};
  }
  void enter(ops::AttentionForm& /*form*/) const override {}
};

}  // namespace attend
