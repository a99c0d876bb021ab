#include "models/ops/kernels/attention.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#define ATTEND_LOOPS "models/ops/kernels/attention_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

void attention(const AttentionLayout& layout, const Attention<float>& a, std::int64_t begin, std::int64_t end) {
  ATTEND_CALL(forward(layout, a, begin, end));
}
void attention(const AttentionLayout& layout, const Attention<Bf16>& a, std::int64_t begin, std::int64_t end) {
  ATTEND_CALL(forward(layout, a, begin, end));
}
void attention_backward(const AttentionLayout& layout, const AttentionBackward<float>& a, std::int64_t begin,
                        std::int64_t end) {
  ATTEND_CALL(backward(layout, a, begin, end));
}
void attention_backward(const AttentionLayout& layout, const AttentionBackward<Bf16>& a, std::int64_t begin,
                        std::int64_t end) {
  ATTEND_CALL(backward(layout, a, begin, end));
}

}  // namespace attend::ops::kernels
