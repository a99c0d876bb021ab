// Compiles a file of loops once per x86-64 level, each in its own namespace, and calls the best one that the processor
// supports:
//
//   #define ATTEND_LOOPS "models/ops/kernels/rowwise_loops.hpp"
//   #include "models/ops/kernels/levels.hpp"
//   ATTEND_KERNELS(forward, Norm)
//
// target_clones does not work: GCC splits vectors in inline functions for the lowest level before inlining them into a
// clone. Include other headers before, outside the levels, so that their functions are not compiled for one level.
#include <cstdint>
#include <cstring>
#include <utility>

#include "models/ops/kernels/types.hpp"

#if defined(__x86_64__) && !defined(__clang__)

#define ATTEND_LEVEL level_4
#define ATTEND_LANES 16
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
#include "models/ops/kernels/lanes.hpp"
#include ATTEND_LOOPS
#pragma GCC pop_options
#undef ATTEND_LEVEL
#undef ATTEND_LANES

#define ATTEND_LEVEL level_3
#define ATTEND_LANES 8
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
#include "models/ops/kernels/lanes.hpp"
#include ATTEND_LOOPS
#pragma GCC pop_options
#undef ATTEND_LEVEL
#undef ATTEND_LANES

#define ATTEND_LEVEL level_1
#define ATTEND_LANES 4
#include "models/ops/kernels/lanes.hpp"
#include ATTEND_LOOPS

#define ATTEND_CALL(call)          \
  do {                             \
    const int level = cpu_level(); \
    if (level == 4) {              \
      level_4::call;               \
    } else if (level == 3) {       \
      level_3::call;               \
    } else {                       \
      level_1::call;               \
    }                              \
  } while (false)

#else

#define ATTEND_LEVEL level_1
#define ATTEND_LANES 4
#include "models/ops/kernels/lanes.hpp"
#include ATTEND_LOOPS
#define ATTEND_CALL(call) level_1::call

#endif

// Defines the call of a kernel, a struct, as `loop` on its items [begin, end).
#define ATTEND_KERNEL(loop, ...) \
  void __VA_ARGS__::operator()(std::int64_t begin, std::int64_t end) const { ATTEND_CALL(loop(*this, begin, end)); }

// The same for kernels of float and of Bf16.
#define ATTEND_KERNELS(loop, Kernel) \
  template <class T>                 \
  ATTEND_KERNEL(loop, Kernel<T>)     \
  template struct Kernel<float>;     \
  template struct Kernel<Bf16>;
