// Compiles a file of loops once per x86-64 level, each in its own namespace, and calls the best one that the processor
// supports:
//
//   #define ATTEND_LOOPS "models/ops/kernels/rowwise_loops.hpp"
//   #include "models/ops/kernels/levels.hpp"
//   ATTEND_KERNELS(norm, forward, Norm)
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

// Defines `name`, which calls `loop` on items [begin, end) of its argument, of the type given last.
#define ATTEND_KERNEL(name, loop, ...) \
  void name(const __VA_ARGS__& a, std::int64_t begin, std::int64_t end) { ATTEND_CALL(loop(a, begin, end)); }

// The same for arguments with float and with Bf16.
#define ATTEND_KERNELS(name, loop, ...)         \
  ATTEND_KERNEL(name, loop, __VA_ARGS__<float>) \
  ATTEND_KERNEL(name, loop, __VA_ARGS__<Bf16>)
