// dot_attention: a step of decoding, without gradients.
#include "models/ops/fast/recurrent_support.hpp"
#include "models/ops/kernels/query.hpp"

namespace attend::ops::fast {

DotAttention dot_attention(const Tensor& query_RH, const Tensor& keys_SH, const Tensor& values_SW, const Layout& memory,
                           std::span<const std::int64_t> sentences) {
  const std::int64_t R = query_RH.size(0), H = keys_SH.size(1), W = values_SW.size(1);
  const Tensor query = query_RH.contiguous(), keys = keys_SH.contiguous(), values = values_SW.contiguous();
  const DotAttention attended{at::empty({R, W}, query.options()),
                              at::zeros({R, memory.max_length}, query.options().dtype(at::kFloat))};
  std::vector<std::int64_t> first_weight(R);
  for (std::int64_t r = 0; r < R; ++r) first_weight[r] = r * memory.max_length;
  with_type(query.scalar_type(), [&](auto type) {
    using T = decltype(type);
    const kernels::Attend<T> step{.width = H,
                                  .value_width = W,
                                  .keys = read<T>(keys),
                                  .values = read<T>(values),
                                  .offsets = memory.offsets.data(),
                                  .sentences = sentences.data(),
                                  .first_weight = first_weight.data(),
                                  .weights = attended.weights_RS.data_ptr<float>(),
                                  .query = rows<T>(query),
                                  .context = rows<T>(attended.context_RW)};
    at::parallel_for(0, R, kGrain, [&](std::int64_t begin, std::int64_t end) { kernels::attend(step, begin, end); });
  });
  return attended;
}

}  // namespace attend::ops::fast
