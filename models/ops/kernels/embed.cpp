#include "models/ops/kernels/embed.hpp"

#include <algorithm>

#define ATTEND_LOOPS "models/ops/kernels/embed_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

void embed(const Embed<float>& a, std::int64_t begin, std::int64_t end) { ATTEND_CALL(forward(a, begin, end)); }
void embed(const Embed<Bf16>& a, std::int64_t begin, std::int64_t end) { ATTEND_CALL(forward(a, begin, end)); }
void embed_backward(const EmbedBackward<float>& a, std::int64_t begin, std::int64_t end) {
  ATTEND_CALL(backward(a, begin, end));
}
void embed_backward(const EmbedBackward<Bf16>& a, std::int64_t begin, std::int64_t end) {
  ATTEND_CALL(backward(a, begin, end));
}

}  // namespace attend::ops::kernels
