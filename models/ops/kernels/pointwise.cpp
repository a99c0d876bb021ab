#include "models/ops/kernels/pointwise.hpp"

#define ATTEND_LOOPS "models/ops/kernels/pointwise_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

ATTEND_KERNEL(pointwise, forward, Pointwise<float>)
ATTEND_KERNEL(pointwise, forward, Pointwise<Bf16>)
ATTEND_KERNEL(pointwise_backward, backward, PointwiseBackward<float>)
ATTEND_KERNEL(pointwise_backward, backward, PointwiseBackward<Bf16>)
ATTEND_KERNEL(gated, gate, Gated<float>)
ATTEND_KERNEL(gated, gate, Gated<Bf16>)

}  // namespace attend::ops::kernels
