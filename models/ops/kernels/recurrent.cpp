#include "models/ops/kernels/recurrent.hpp"

#define ATTEND_LOOPS "models/ops/kernels/recurrent_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

ATTEND_KERNELS(cell_forward, forward, CellForward)
ATTEND_KERNELS(cell_backward, backward, CellBackward)
ATTEND_KERNEL(copy_rows, copy_each, CopyRows<float, float>)
ATTEND_KERNEL(copy_rows, copy_each, CopyRows<Bf16, Bf16>)
ATTEND_KERNEL(copy_rows, copy_each, CopyRows<Bf16, float>)
ATTEND_KERNELS(tanh_rows, forward, Tanh)
ATTEND_KERNELS(tanh_backward, backward, TanhBackward)

}  // namespace attend::ops::kernels
