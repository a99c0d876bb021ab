#include "models/ops/attention.hpp"

#include "core/error.hpp"
#include "models/ops/dispatch.hpp"
#include "models/ops/paths.hpp"

namespace attend::ops {

using torch::Tensor;

namespace {

bool has_biases_for(const HeadsForm& form, std::int64_t length) {
  if (!form.biases_ND.defined()) return true;
  const std::int64_t of_heads = form.biases_ND.size(0);
  return length <= form.longest && form.biases_ND.size(1) == 2 * form.longest - 1 &&
         (of_heads == 1 || of_heads == form.heads);
}

}  // namespace

Tensor fused_attention(const QueriesKeysValues& rows, const Layout& queries, const Layout& keys,
                       const HeadsForm& form) {
  ensure(queries.size() == keys.size(), "queries and keys have the same number of sentences");
  ensure(rows.first.size(0) == queries.num_tokens(), "the layout is that of the queries");
  ensure(rows.k().size(0) == keys.num_tokens(), "the layout is that of the keys");
  ensure(rows.first.scalar_type() == rows.k().scalar_type(), "queries and keys have the same type");
  ensure(!form.causal || queries.offsets == keys.offsets, "causal attention is over the queries' own sentences");
  ensure(rows.width() % form.heads == 0, "the width is a multiple of the number of heads");
  ensure(has_biases_for(form, keys.max_length), "biases of all distances");
  ensure(form.energy.kind <= HeadEnergy::Kind::product && !form.distance_keys.defined() && !form.biases_RNL.defined(),
         "a form of whole sentences");
  ensure(form.numbers_M.defined() ? !form.causal : !form.biases_ND.defined() || queries.max_length <= form.longest,
         "every query has a place among the keys");
  return has_gpu_path(rows.first) ? gpu::fused_attention(rows, queries, keys, form)
                                  : fast::fused_attention(rows, queries, keys, form);
}

Tensor fused_attention_to_steps(const Tensor& q_RK, std::span<const Tensor> kv, const Ancestry& ancestry,
                                const HeadsForm& form) {
  ensure(has_biases_for(form, std::ssize(kv)), "biases of the distances of all steps");
  ensure(
      !form.distance_keys.defined() || (form.distance_keys.is_contiguous() && form.distance_values.is_contiguous() &&
                                        form.distance_keys.size(0) == form.longest && std::ssize(kv) <= form.longest),
      "keys and values of the distances of all steps");
  ensure(!form.biases_RNL.defined() || form.biases_RNL.size(2) == std::ssize(kv), "biases of all steps");
  ensure(q_RK.scalar_type() == kv.back().scalar_type(), "queries and keys have the same type");
  return fast::fused_attention_to_steps(q_RK, kv, ancestry, form);
}

Tensor fused_attention_to_memory(const Tensor& q_RK, const Tensor& kv_MC, const Layout& memory,
                                 std::span<const std::int64_t> sentences, const HeadsForm& form) {
  ensure(!form.biases_ND.defined() && !form.biases_RNL.defined() && !form.distance_keys.defined(),
         "a memory has no distances");
  ensure(q_RK.scalar_type() == kv_MC.scalar_type(), "queries and keys have the same type");
  return fast::fused_attention_to_memory(q_RK, kv_MC, memory, sentences, form);
}

}  // namespace attend::ops
