#include "models/ops/kernels/pointwise.hpp"

#define ATTEND_LOOPS "models/ops/kernels/pointwise_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

void pointwise(const Pointwise<float>& a, std::int64_t begin, std::int64_t end) { ATTEND_CALL(forward(a, begin, end)); }
void pointwise(const Pointwise<Bf16>& a, std::int64_t begin, std::int64_t end) { ATTEND_CALL(forward(a, begin, end)); }
void pointwise_backward(const PointwiseBackward<float>& a, std::int64_t begin, std::int64_t end) {
  ATTEND_CALL(backward(a, begin, end));
}
void pointwise_backward(const PointwiseBackward<Bf16>& a, std::int64_t begin, std::int64_t end) {
  ATTEND_CALL(backward(a, begin, end));
}
void gated(const Gated<float>& a, std::int64_t begin, std::int64_t end) { ATTEND_CALL(gate(a, begin, end)); }
void gated(const Gated<Bf16>& a, std::int64_t begin, std::int64_t end) { ATTEND_CALL(gate(a, begin, end)); }

}  // namespace attend::ops::kernels
