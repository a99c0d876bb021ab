// The fast paths of fused_attention_to_steps and fused_attention_to_memory: every row gathers pointers to its keys, and
// one loop reads them in place.
#include "models/ops/fast/support.hpp"
#include "models/ops/kernels/query.hpp"
#include "models/ops/paths.hpp"

namespace attend::ops::fast {
namespace {

// Calls attend_query for rows 0 … R - 1. gather(r, keys) writes pointers to row r's keys and returns their number, at
// most `max_keys`; each value, of `width` columns, follows its key. With biases or keys by distance, all rows have
// `max_keys` keys, and the query stands at the position of the last one.
template <class T, class Gather>
Tensor attend_rows(const Tensor& q_RK, std::int64_t width, const HeadsForm& form, std::int64_t max_keys,
                   const Gather& gather) {
  const std::int64_t R = q_RK.size(0), key_width = q_RK.size(1), heads = form.heads;
  Tensor biases_RNS = form.biases_RNL;
  if (form.biases_ND.defined()) {
    const Tensor of_keys_NS = form.biases_ND.narrow(1, form.longest - max_keys, max_keys).contiguous();
    biases_RNS = biases_RNS.defined() ? biases_RNS + of_keys_NS : of_keys_NS.unsqueeze(0);
  }
  const Tensor v_NA = form.energy.v_NA.defined() ? form.energy.v_NA.contiguous() : Tensor();
  ensure(!biases_RNS.defined() || biases_RNS.stride(2) == 1 || max_keys == 1, "adjacent biases");
  const float* biases = read<float>(biases_RNS);
  const auto bias_stride = [&](std::int64_t axis) {
    return biases != nullptr && biases_RNS.size(axis) > 1 ? biases_RNS.stride(axis) : 0;
  };
  const std::int64_t of_row = bias_stride(0), of_head = bias_stride(1);
  const auto from_first_key = [&](const Tensor& more) {
    return more.defined() ? more.const_data_ptr<float>() + (form.longest - max_keys) * more.size(1) : nullptr;
  };
  const Tensor whole_RK = with_whole_rows(q_RK);
  const kernels::Rows<T> queries = rows<T>(whole_RK);
  const Tensor context_RH = at::empty({R, width}, q_RK.options());
  const kernels::Rows<T> contexts = rows<T>(context_RH);
  const std::int64_t work = std::max<std::int64_t>(1, max_keys * key_width);
  at::parallel_for(0, R, std::max<std::int64_t>(1, 65536 / work), [&](std::int64_t begin, std::int64_t end) {
    std::vector<const T*> keys(max_keys);
    std::vector<float> scratch(heads * (kernels::padded(width / heads) + 2));
    for (std::int64_t r = begin; r < end; ++r) {
      kernels::attend_query(kernels::QueryOverKeys<T>{.query = queries.row(r),
                                                      .keys = keys.data(),
                                                      .num_keys = gather(r, keys.data()),
                                                      .heads = heads,
                                                      .key_size = key_width / heads,
                                                      .value_size = width / heads,
                                                      .energy = read<float>(v_NA),
                                                      .log_products = form.energy.kind == HeadEnergy::Kind::log_product,
                                                      .scale = form.scale(key_width),
                                                      .bias = biases != nullptr ? biases + r * of_row : nullptr,
                                                      .bias_stride = of_head,
                                                      .distance_keys = from_first_key(form.distance_keys),
                                                      .distance_values = from_first_key(form.distance_values),
                                                      .scratch = scratch.data(),
                                                      .context = contexts.row(r)});
    }
  });
  return context_RH;
}

}  // namespace

Tensor fused_attention_to_steps(const Tensor& q_RK, std::span<const Tensor> kv, const Ancestry& ancestry,
                                const HeadsForm& form) {
  const std::int64_t steps = std::ssize(kv), stride = kv.back().size(1);
  return with_type(q_RK.scalar_type(), [&](auto type) {
    using T = decltype(type);
    std::vector<const T*> bases;
    for (const Tensor& step : kv) bases.push_back(read<T>(step));
    return attend_rows<T>(q_RK, stride - q_RK.size(1), form, steps, [&](std::int64_t r, const T** keys) {
      for (std::int64_t t = 0; t < steps; ++t) keys[t] = bases[t] + ancestry[t][r] * stride;
      return steps;
    });
  });
}

Tensor fused_attention_to_memory(const Tensor& q_RK, const Tensor& kv_MC, const Layout& memory,
                                 std::span<const std::int64_t> sentences, const HeadsForm& form) {
  const std::int64_t stride = kv_MC.size(1);
  return with_type(q_RK.scalar_type(), [&](auto type) {
    using T = decltype(type);
    const T* base = read<T>(kv_MC);
    return attend_rows<T>(q_RK, stride - q_RK.size(1), form, memory.max_length, [&](std::int64_t r, const T** keys) {
      const std::int64_t length = memory.length(sentences[r]);
      for (std::int64_t j = 0; j < length; ++j) keys[j] = base + (memory.offsets[sentences[r]] + j) * stride;
      return length;
    });
  });
}

}  // namespace attend::ops::fast
