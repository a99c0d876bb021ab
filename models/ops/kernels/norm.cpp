#include "models/ops/kernels/norm.hpp"

#include <cmath>

#define ATTEND_LOOPS "models/ops/kernels/norm_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

void norm(const Norm<float>& a, std::int64_t begin, std::int64_t end) { ATTEND_CALL(forward(a, begin, end)); }
void norm(const Norm<Bf16>& a, std::int64_t begin, std::int64_t end) { ATTEND_CALL(forward(a, begin, end)); }
void norm_backward(const NormBackward<float>& a, std::int64_t begin, std::int64_t end) {
  ATTEND_CALL(backward(a, begin, end));
}
void norm_backward(const NormBackward<Bf16>& a, std::int64_t begin, std::int64_t end) {
  ATTEND_CALL(backward(a, begin, end));
}

}  // namespace attend::ops::kernels
