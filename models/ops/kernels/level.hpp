// Which level of x86-64 the loops are taken of (levels.hpp).
#pragma once

namespace attend::ops::kernels {

// 4, 3 or 1: the best that the processor has, and not above ATTEND_CPU_LEVEL where that is set (for tests of the
// others).
int cpu_level();

}  // namespace attend::ops::kernels
