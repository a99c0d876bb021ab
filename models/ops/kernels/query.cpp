#include "models/ops/kernels/query.hpp"

#include <algorithm>
#include <cmath>

#define ATTEND_LOOPS "models/ops/kernels/query_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

void attend_query(const QueryOverKeys<float>& row) { ATTEND_CALL(over_keys(row)); }
void attend_query(const QueryOverKeys<Bf16>& row) { ATTEND_CALL(over_keys(row)); }
ATTEND_KERNEL(attend, forward, Attend<float>)
ATTEND_KERNEL(attend, forward, Attend<Bf16>)
ATTEND_KERNEL(attend_backward, backward, AttendBackward<float>)
ATTEND_KERNEL(attend_backward, backward, AttendBackward<Bf16>)
ATTEND_KERNEL(memory_backward, backward, MemoryBackward<float>)
ATTEND_KERNEL(memory_backward, backward, MemoryBackward<Bf16>)

}  // namespace attend::ops::kernels
