#include "models/ops/kernels/rowwise.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#define ATTEND_LOOPS "models/ops/kernels/rowwise_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

ATTEND_KERNELS(pointwise, forward, Pointwise)
ATTEND_KERNELS(pointwise_backward, backward, PointwiseBackward)
ATTEND_KERNELS(gated, gate, Gated)
ATTEND_KERNELS(norm, forward, Norm)
ATTEND_KERNELS(norm_backward, backward, NormBackward)
ATTEND_KERNELS(embed, forward, Embed)
ATTEND_KERNELS(embed_backward, backward, EmbedBackward)
ATTEND_KERNELS(loss_rows, rows, LossRows)

float log_sum_exp(const float* x, std::int64_t n, float* block_max) {
  float result = 0;
  ATTEND_CALL(log_sum_exp(x, n, block_max, result));
  return result;
}

}  // namespace attend::ops::kernels
