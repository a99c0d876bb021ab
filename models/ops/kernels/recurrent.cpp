#include "models/ops/kernels/recurrent.hpp"

#define ATTEND_LOOPS "models/ops/kernels/recurrent_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

void cell_forward(const CellForward<float>& step, std::int64_t begin, std::int64_t end) {
  ATTEND_CALL(forward(step, begin, end));
}
void cell_forward(const CellForward<Bf16>& step, std::int64_t begin, std::int64_t end) {
  ATTEND_CALL(forward(step, begin, end));
}
void cell_backward(const CellBackward<float>& step, std::int64_t begin, std::int64_t end) {
  ATTEND_CALL(backward(step, begin, end));
}
void cell_backward(const CellBackward<Bf16>& step, std::int64_t begin, std::int64_t end) {
  ATTEND_CALL(backward(step, begin, end));
}
void copy_rows(const CopyRows<float, float>& copy, std::int64_t begin, std::int64_t end) {
  ATTEND_CALL(copy_each(copy, begin, end));
}
void copy_rows(const CopyRows<Bf16, Bf16>& copy, std::int64_t begin, std::int64_t end) {
  ATTEND_CALL(copy_each(copy, begin, end));
}
void copy_rows(const CopyRows<Bf16, float>& copy, std::int64_t begin, std::int64_t end) {
  ATTEND_CALL(copy_each(copy, begin, end));
}
void tanh_rows(const Tanh<float>& step, std::int64_t begin, std::int64_t end) {
  ATTEND_CALL(forward(step, begin, end));
}
void tanh_rows(const Tanh<Bf16>& step, std::int64_t begin, std::int64_t end) { ATTEND_CALL(forward(step, begin, end)); }
void tanh_backward(const TanhBackward<float>& step, std::int64_t begin, std::int64_t end) {
  ATTEND_CALL(backward(step, begin, end));
}
void tanh_backward(const TanhBackward<Bf16>& step, std::int64_t begin, std::int64_t end) {
  ATTEND_CALL(backward(step, begin, end));
}

}  // namespace attend::ops::kernels
