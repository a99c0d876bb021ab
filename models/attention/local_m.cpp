#include "models/attention/local_m.hpp"

#include <ATen/ATen.h>

namespace attend {

Window LocalMonotonicScope::window(const torch::Tensor& queries_TH, const Places& places) const {
  const torch::Tensor centres_T1 = places.numbers_T1(queries_TH.size(-2)).minimum(places.lengths_11() - 1);
  const torch::Tensor distances_TS = places.positions_S() - centres_T1;
  return {.outside_TS = places.padding_1S | distances_TS.abs().gt(half_width_)};
}

}  // namespace attend
