// A scope says which positions of its sentence a row may look at, and with which factor: the second part of recurrent
// attention. Global attention looks at all of them (arXiv 1508.04025, 3.1).
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>

#include "models/attention/memory_rows.hpp"

namespace attend {

struct Window {
  torch::Tensor outside_RS;  // true where a row does not look: behind its sentence, and outside the window
  torch::Tensor factor_RS;   // what the weights are multiplied by after the softmax; undefined: 1
};

class Scope : public torch::nn::Module {
 public:
  // Where R rows look at the given step (0 is the first) with query [R, H].
  virtual Window window(const torch::Tensor& query_RH, const MemoryRows& memory, std::int64_t step) const = 0;

  // Whether every position is looked at and no weight is changed, which the fused forms of ops/recurrent.hpp assume.
  virtual bool is_global() const { return false; }
};

class GlobalScope : public Scope {
 public:
  Window window(const torch::Tensor& /*query_RH*/, const MemoryRows& memory, std::int64_t /*step*/) const override {
    return {.outside_RS = memory.padding_RS(), .factor_RS = {}};
  }
  bool is_global() const override { return true; }
};

}  // namespace attend
