#include "models/ops/kernels/norm.hpp"

#include <cmath>

#define ATTEND_LOOPS "models/ops/kernels/norm_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

ATTEND_KERNEL(norm, forward, Norm<float>)
ATTEND_KERNEL(norm, forward, Norm<Bf16>)
ATTEND_KERNEL(norm_backward, backward, NormBackward<float>)
ATTEND_KERNEL(norm_backward, backward, NormBackward<Bf16>)

}  // namespace attend::ops::kernels
