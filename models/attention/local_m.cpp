#include "models/attention/local_m.hpp"

#include <ATen/ATen.h>

namespace attend {

Window LocalMonotonicScope::window(const torch::Tensor& /*query_RH*/, const MemoryRows& memory,
                                   std::int64_t step) const {
  const torch::Tensor& padding_RS = memory.padding_RS();
  const torch::Tensor last_R1 = padding_RS.logical_not().sum(1, true) - 1;
  const torch::Tensor distance_RS = at::arange(padding_RS.size(1), last_R1.options()) - last_R1.clamp_max(step);
  return {.outside_RS = padding_RS | distance_RS.abs().gt(half_width_), .factor_RS = {}};
}

}  // namespace attend
