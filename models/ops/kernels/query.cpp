#include "models/ops/kernels/query.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#define ATTEND_LOOPS "models/ops/kernels/query_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

void attend_query(const QueryOverKeys<float>& row) { ATTEND_CALL(over_keys(row)); }
void attend_query(const QueryOverKeys<Bf16>& row) { ATTEND_CALL(over_keys(row)); }
ATTEND_KERNELS(attend, forward, Attend)
ATTEND_KERNELS(attend_backward, backward, AttendBackward)
ATTEND_KERNEL(additive_scores, forward, AdditiveScores)
ATTEND_KERNEL(additive_scores_backward, backward, AdditiveScoresBackward)
ATTEND_KERNELS(memory_backward, backward, MemoryBackward)

}  // namespace attend::ops::kernels
