#include "models/ops/kernels/loss.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#define ATTEND_LOOPS "models/ops/kernels/loss_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

ATTEND_KERNELS(loss_rows, rows, LossRows)

float log_sum_exp(const float* x, std::int64_t n, float* block_max) {
  float result = 0;
  ATTEND_CALL(log_sum_exp(x, n, block_max, result));
  return result;
}

}  // namespace attend::ops::kernels
