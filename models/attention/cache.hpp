// The keys and values of a decoder's previous steps, in every layer, for all hypotheses. It is a plain value, not state
// of a module. Splitting and dropping hypotheses copies nothing (ops::Ancestry) until half of a step's rows are unused.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "models/ops/attention.hpp"

namespace attend {

struct KeyValueCache {
  std::vector<std::vector<torch::Tensor>> kv;  // [layer][step]: stored (heads.hpp), [R_t, C]
  ops::Ancestry ancestry;                      // [step][row]

  explicit KeyValueCache(std::int64_t layers = 0) : kv(layers) {}

  std::int64_t steps() const { return std::ssize(ancestry); }
  // Begins a step of `rows` hypotheses, as many as in the last step; each layer then adds its keys and values.
  void begin_step(std::int64_t rows);
  // Keeps the given rows, in the given order; a row may occur several times or not at all.
  void select(std::span<const std::int64_t> rows);

 private:
  void drop_unread(std::size_t step);
};

}  // namespace attend
