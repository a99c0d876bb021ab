#include "models/ops/attention.hpp"

#include "core/error.hpp"
#include "models/ops/dispatch.hpp"
#include "models/ops/paths.hpp"

namespace attend::ops {

using torch::Tensor;

std::optional<Tensor> fused_attention(const QueriesKeysValues& rows, const Layout& queries, const Layout& keys,
                                      const HeadsForm& form) {
  ensure(queries.size() == keys.size(), "queries and keys have the same number of sentences");
  ensure(rows.first.size(0) == queries.num_tokens(), "the layout is that of the queries");
  ensure(rows.k().size(0) == keys.num_tokens(), "the layout is that of the keys");
  ensure(rows.first.scalar_type() == rows.k().scalar_type(), "queries and keys have the same type");
  ensure(!form.causal || queries.offsets == keys.offsets, "causal attention is over the queries' own sentences");
  ensure(rows.width() % form.heads == 0, "the width is a multiple of the number of heads");
  if (!has_fast_path(rows.first)) return std::nullopt;
  return fast::fused_attention(rows, queries, keys, form);
}

std::optional<Tensor> fused_attention_to_steps(const Tensor& q_RH, std::span<const Tensor> kv, const Ancestry& ancestry,
                                               std::int64_t heads) {
  ensure(q_RH.scalar_type() == kv.back().scalar_type(), "queries and keys have the same type");
  if (!has_fast_path(q_RH)) return std::nullopt;
  return fast::fused_attention_to_steps(q_RH, kv, ancestry, heads);
}

std::optional<Tensor> fused_attention_to_memory(const Tensor& q_RH, const Tensor& kv_MC, const Layout& memory,
                                                std::span<const std::int64_t> sentences, std::int64_t heads) {
  ensure(q_RH.scalar_type() == kv_MC.scalar_type(), "queries and keys have the same type");
  if (!has_fast_path(q_RH)) return std::nullopt;
  return fast::fused_attention_to_memory(q_RH, kv_MC, memory, sentences, heads);
}

}  // namespace attend::ops
