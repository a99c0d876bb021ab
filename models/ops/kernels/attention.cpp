#include "models/ops/kernels/attention.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#define ATTEND_LOOPS "models/ops/kernels/attention_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

ATTEND_KERNELS(forward, Attention)
ATTEND_KERNELS(backward, AttentionBackward)

}  // namespace attend::ops::kernels
