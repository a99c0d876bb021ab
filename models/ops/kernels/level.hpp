// The level of x86-64 whose loops are used (levels.hpp).
#pragma once

namespace attend::ops::kernels {

// 4, 3 or 1: the best that the processor supports, limited by ATTEND_CPU_LEVEL if set (to test the others).
int cpu_level();

}  // namespace attend::ops::kernels
