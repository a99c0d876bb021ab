#include "models/ops/kernels/rowwise.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#define ATTEND_LOOPS "models/ops/kernels/rowwise_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

ATTEND_KERNELS(forward, Pointwise)
ATTEND_KERNELS(backward, PointwiseBackward)
ATTEND_KERNELS(gate, Gated)
ATTEND_KERNELS(forward, Norm)
ATTEND_KERNELS(backward, NormBackward)
ATTEND_KERNELS(forward, Embed)
ATTEND_KERNELS(backward, EmbedBackward)
ATTEND_KERNELS(rows, LossRows)

float log_sum_exp(const float* x, std::int64_t n, float* block_max) {
  float result = 0;
  ATTEND_CALL(log_sum_exp(x, n, block_max, result));
  return result;
}

}  // namespace attend::ops::kernels
