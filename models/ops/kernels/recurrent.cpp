#include "models/ops/kernels/recurrent.hpp"

#define ATTEND_LOOPS "models/ops/kernels/recurrent_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

ATTEND_KERNEL(cell_forward, forward, CellForward<float>)
ATTEND_KERNEL(cell_forward, forward, CellForward<Bf16>)
ATTEND_KERNEL(cell_backward, backward, CellBackward<float>)
ATTEND_KERNEL(cell_backward, backward, CellBackward<Bf16>)
ATTEND_KERNEL(copy_rows, copy_each, CopyRows<float, float>)
ATTEND_KERNEL(copy_rows, copy_each, CopyRows<Bf16, Bf16>)
ATTEND_KERNEL(copy_rows, copy_each, CopyRows<Bf16, float>)
ATTEND_KERNEL(tanh_rows, forward, Tanh<float>)
ATTEND_KERNEL(tanh_rows, forward, Tanh<Bf16>)
ATTEND_KERNEL(tanh_backward, backward, TanhBackward<float>)
ATTEND_KERNEL(tanh_backward, backward, TanhBackward<Bf16>)

}  // namespace attend::ops::kernels
