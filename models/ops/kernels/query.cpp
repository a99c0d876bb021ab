#include "models/ops/kernels/query.hpp"

#include <algorithm>
#include <cmath>

#define ATTEND_LOOPS "models/ops/kernels/query_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

void attend_query(const QueryOverKeys<float>& row) { ATTEND_CALL(over_keys(row)); }
void attend_query(const QueryOverKeys<Bf16>& row) { ATTEND_CALL(over_keys(row)); }
void attend(const Attend<float>& step, std::int64_t begin, std::int64_t end) { ATTEND_CALL(forward(step, begin, end)); }
void attend(const Attend<Bf16>& step, std::int64_t begin, std::int64_t end) { ATTEND_CALL(forward(step, begin, end)); }
void attend_backward(const AttendBackward<float>& step, std::int64_t begin, std::int64_t end) {
  ATTEND_CALL(backward(step, begin, end));
}
void attend_backward(const AttendBackward<Bf16>& step, std::int64_t begin, std::int64_t end) {
  ATTEND_CALL(backward(step, begin, end));
}
void memory_backward(const MemoryBackward<float>& memory, std::int64_t begin, std::int64_t end) {
  ATTEND_CALL(backward(memory, begin, end));
}
void memory_backward(const MemoryBackward<Bf16>& memory, std::int64_t begin, std::int64_t end) {
  ATTEND_CALL(backward(memory, begin, end));
}

}  // namespace attend::ops::kernels
