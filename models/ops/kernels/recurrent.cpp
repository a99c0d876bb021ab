#include "models/ops/kernels/recurrent.hpp"

#define ATTEND_LOOPS "models/ops/kernels/recurrent_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

ATTEND_KERNELS(forward, CellForward)
ATTEND_KERNELS(backward, CellBackward)
ATTEND_KERNELS(forward, Tanh)
ATTEND_KERNELS(backward, TanhBackward)

template <class From, class To>
ATTEND_KERNEL(copy_each, CopyRows<From, To>)
template struct CopyRows<float, float>;
template struct CopyRows<Bf16, Bf16>;
template struct CopyRows<Bf16, float>;

}  // namespace attend::ops::kernels
