#include "models/ops/kernels/norm.hpp"

#include <cmath>

#define ATTEND_LOOPS "models/ops/kernels/norm_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

ATTEND_KERNELS(norm, forward, Norm)
ATTEND_KERNELS(norm_backward, backward, NormBackward)

}  // namespace attend::ops::kernels
