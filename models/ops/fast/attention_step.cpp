// The fast path of attention_step: attention of single queries, without gradients.
#include "models/ops/fast/recurrent_support.hpp"
#include "models/ops/kernels/query.hpp"

namespace attend::ops::fast {
namespace {

// The centres of a local scope, fp32 [R], for sentences of the given lengths.
Tensor centres_of(const AttentionForm& form, const Tensor& query_RH, const Tensor& length_R, std::int64_t step) {
  if (!form.is_predictive()) return (length_R - 1).clamp_max(step).to(at::kFloat);
  const Tensor inner_RH = ops::linear(query_RH, *form.inner_HH, {}, Activation::tanh);
  return ops::linear(inner_RH, *form.centre_1H, {}).to(at::kFloat).sigmoid().squeeze(1) * length_R;
}

}  // namespace

Attended attention_step(const AttentionForm& form, const Tensor& query_RH, const AttentionMemory& memory,
                        const AttendingRows& attending) {
  const std::int64_t R = query_RH.size(0), W = memory.values_SW.size(1);
  const Tensor query = form.is_additive() ? ops::linear(query_RH, *form.query_AH, {}) : query_RH.contiguous();
  const Tensor keys = memory.keys_SA.contiguous(), values = memory.values_SW.contiguous();
  const Tensor energy = form.is_additive() ? form.energy_1A.contiguous() : Tensor();
  Tensor coverage, coverage_key;
  if (form.coverage_A.defined()) {
    coverage = attending.coverage_RS.contiguous(), coverage_key = form.coverage_A.contiguous();
  }
  std::vector<std::int64_t> first_weight(R), lengths(R);
  for (std::int64_t r = 0; r < R; ++r) {
    first_weight[r] = r * memory.layout.max_length;
    lengths[r] = memory.layout.length(attending.sentences[r]);
  }
  Tensor centres;
  if (form.half_width > 0) centres = centres_of(form, query_RH, index(lengths), attending.step).contiguous();
  const Attended attended{at::empty({R, W}, query.options()),
                          at::zeros({R, memory.layout.max_length}, query.options().dtype(at::kFloat))};
  with_type(query.scalar_type(), [&](auto type) {
    using T = decltype(type);
    const kernels::Attend<T> attend{.memory = {.key_width = keys.size(1),
                                               .value_width = W,
                                               .keys = read<T>(keys),
                                               .values = read<T>(values),
                                               .offsets = memory.layout.offsets.data(),
                                               .sentences = attending.sentences.data(),
                                               .first_weight = first_weight.data(),
                                               .weights = attended.weights_RS.mutable_data_ptr<float>(),
                                               .energy = read<float>(energy),
                                               .coverage = read<float>(coverage),
                                               .coverage_key = read<float>(coverage_key),
                                               .centres = read<float>(centres),
                                               .half_width = static_cast<float>(form.half_width),
                                               .precision = static_cast<float>(form.precision())},
                                    .query = rows<const T>(query),
                                    .context = rows<T>(attended.context_RW)};
    at::parallel_for(0, R, kGrain, [&](std::int64_t begin, std::int64_t end) { kernels::attend(attend, begin, end); });
  });
  return attended;
}

}  // namespace attend::ops::fast
