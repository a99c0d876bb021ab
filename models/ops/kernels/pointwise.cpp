#include "models/ops/kernels/pointwise.hpp"

#define ATTEND_LOOPS "models/ops/kernels/pointwise_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

ATTEND_KERNELS(pointwise, forward, Pointwise)
ATTEND_KERNELS(pointwise_backward, backward, PointwiseBackward)
ATTEND_KERNELS(gated, gate, Gated)

}  // namespace attend::ops::kernels
