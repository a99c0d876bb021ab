#include "models/ops/kernels/types.hpp"

#include <cstdlib>

namespace attend::ops::kernels {

int cpu_level() {
  static const int level = [] {
    const char* limit = std::getenv("ATTEND_CPU_LEVEL");
    const int most = limit != nullptr ? std::atoi(limit) : 4;
#if defined(__x86_64__)
    if (most >= 4 && __builtin_cpu_supports("x86-64-v4")) return 4;
    if (most >= 3 && __builtin_cpu_supports("x86-64-v3")) return 3;
#endif
    return 1;
  }();
  return level;
}

}  // namespace attend::ops::kernels
