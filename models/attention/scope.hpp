// A scope restricts the source positions that a row attends to, and may scale their weights: the second part of
// recurrent attention. Global attention uses all positions (arXiv 1508.04025, 3.1); each of the local scopes has its
// own file.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "models/attention/memory_rows.hpp"
#include "models/layers/layers.hpp"
#include "models/ops/recurrent.hpp"

namespace attend {

struct Window {
  torch::Tensor outside_RS;  // true where a row does not attend: past its sentence, or outside the window
  torch::Tensor factor_RS;   // factor of the weights after the softmax; undefined: 1
};

class Scope : public Layer {
 public:
  // The window of each row at the given step (from 0), from its query [R, H].
  virtual Window window(const torch::Tensor& query_RH, const MemoryRows& memory, std::int64_t step) const = 0;

  // Describes this scope in `form`, which is global by default, for the fused ops (ops/recurrent.hpp).
  virtual void enter(ops::AttentionForm& form) const = 0;

  // Scopes with parameters outside linear maps override this.
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
