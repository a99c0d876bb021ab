// The x86-64 level whose loops are used (levels.hpp).
#pragma once

namespace attend::ops::kernels {

// Returns 4, 3 or 1: the best level of the processor, limited by ATTEND_CPU_LEVEL if set (to test the others).
int cpu_level();

}  // namespace attend::ops::kernels
