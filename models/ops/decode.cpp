#include "models/ops/decode.hpp"

#include "core/error.hpp"
#include "models/ops/dispatch.hpp"
#include "models/ops/paths.hpp"

namespace attend::ops {

using torch::Tensor;

Tensor decode_self_attention(const Tensor& q_RH, std::span<const Tensor> kv, const Ancestry& ancestry,
                             std::int64_t heads) {
  ensure(!kv.empty() && kv.size() == ancestry.size(), "there is an ancestry for every step");
  ensure(q_RH.scalar_type() == kv.back().scalar_type(), "queries and keys have the same type");
  return has_fast_path(q_RH) ? fast::decode_self_attention(q_RH, kv, ancestry, heads)
                             : plain::decode_self_attention(q_RH, kv, ancestry, heads);
}

Tensor decode_cross_attention(const Tensor& q_RH, const Tensor& kv_MC, const Layout& memory,
                              std::span<const std::int64_t> sentences, std::int64_t heads) {
  ensure(q_RH.size(0) == std::ssize(sentences), "there is a sentence for every row");
  ensure(q_RH.scalar_type() == kv_MC.scalar_type(), "queries and keys have the same type");
  return has_fast_path(q_RH) ? fast::decode_cross_attention(q_RH, kv_MC, memory, sentences, heads)
                             : plain::decode_cross_attention(q_RH, kv_MC, memory, sentences, heads);
}

}  // namespace attend::ops
