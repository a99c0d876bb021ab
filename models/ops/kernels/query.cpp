#include "models/ops/kernels/query.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#define ATTEND_LOOPS "models/ops/kernels/query_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

void attend_query(const QueryOverKeys<float>& row) { ATTEND_CALL(over_keys(row)); }
void attend_query(const QueryOverKeys<Bf16>& row) { ATTEND_CALL(over_keys(row)); }
ATTEND_KERNELS(forward, Attend)
ATTEND_KERNELS(backward, AttendBackward)
ATTEND_KERNEL(forward, AdditiveScores)
ATTEND_KERNEL(backward, AdditiveScoresBackward)
ATTEND_KERNELS(backward, MemoryBackward)

}  // namespace attend::ops::kernels
