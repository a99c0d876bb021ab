#include <vector>

#include "core/error.hpp"
#include "models/ops/fast/recurrent_support.hpp"
#include "models/ops/fast/support.hpp"
#include "models/ops/kernels/attention.hpp"
#include "models/ops/kernels/query.hpp"
#include "models/ops/paths.hpp"

namespace attend::ops::fast {

// The fast path of fused_attention: one work item per sentence and head (kernels/attention.hpp). The backward pass
// recomputes the weights instead of storing them.

namespace {

// What both passes read besides queries, keys and values.
struct Work {
  Tensor query_offsets, key_offsets, numbers;
  Tensor biases_NW;  // W: distances, and kWidest more columns that vectors may read; undefined: no biases
  std::int64_t sentences, max_queries, max_keys;
  HeadsForm form;

  Work(const Layout& queries, const Layout& keys, const HeadsForm& heads_form)
      : query_offsets(queries.on(at::kCPU).offsets_B1),
        key_offsets(keys.on(at::kCPU).offsets_B1),
        numbers(heads_form.numbers_M.defined() ? heads_form.numbers_M.contiguous() : Tensor()),
        biases_NW(heads_form.biases_ND.defined()
                      ? at::constant_pad_nd(heads_form.biases_ND.detach(), {0, kernels::kWidest})
                      : Tensor()),
        sentences(queries.size()),
        max_queries(queries.max_length),
        max_keys(keys.max_length),
        form(heads_form) {}

  kernels::AttentionLayout layout(std::int64_t width) const {
    return {.query_offsets = read<std::int64_t>(query_offsets),
            .key_offsets = read<std::int64_t>(key_offsets),
            .max_queries = max_queries,
            .max_keys = max_keys,
            .heads = form.heads,
            .head_size = width / form.heads,
            .causal = form.causal,
            .mask = DropoutMask(form.dropout),
            .scale = form.scale(width),
            .bias = biases_NW.defined() ? of_distance_0(biases_NW.const_data_ptr<float>()) : nullptr,
            .bias_stride = biases_NW.defined() ? biases_NW.size(1) : 0,
            .numbers = read<std::int64_t>(numbers)};
  }

  // The bias of distance 0 in a row of biases_NW.
  template <class F>
  F* of_distance_0(F* row) const {
    return row + (biases_NW.size(1) - kernels::kWidest) / 2;
  }

  // Equal numbers of work items per thread: sentences of a batch have similar lengths.
  Chunks chunks(std::int64_t width) const {
    return {sentences * form.heads, max_queries * max_keys + (max_queries + max_keys) * width / form.heads};
  }
};

Tensor compute_attention(const QueriesKeysValues& sources, const Work& work) {
  const Tensor q = sources.q(), k = sources.k(), v = sources.v();
  Tensor result = at::empty(q.sizes(), q.options());
  with_type(q.scalar_type(), [&](auto type) {
    using T = decltype(type);
    work.chunks(q.size(1)).run(kernels::Attention<T>{.layout = work.layout(q.size(1)),
                                                     .q = rows<const T>(q),
                                                     .k = rows<const T>(k),
                                                     .v = rows<const T>(v),
                                                     .out = rows<T>(result)});
  });
  return result;
}

class AttentionFunction : public torch::autograd::Function<AttentionFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& first, const std::optional<Tensor>& second,
                        const std::optional<Tensor>& third, const std::optional<Tensor>& biases_ND, const Work& work) {
    const QueriesKeysValues sources{first, defined_or_not(second), defined_or_not(third)};
    hold(*context, work);
    context->saved_data["dbias"] = biases_ND && biases_ND->requires_grad();
    context->save_for_backward({sources.first, sources.second, sources.third});
    return compute_attention(sources, work);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Work& work = held<Work>(*context);
    const QueriesKeysValues sources{saved[0], saved[1], saved[2]};
    const auto like = [](const Tensor& x) { return x.defined() ? at::empty(x.sizes(), x.options()) : Tensor(); };
    const QueriesKeysValues result{like(sources.first), like(sources.second), like(sources.third)};
    const Tensor dout = gradients[0].contiguous();
    const Chunks chunks = work.chunks(dout.size(1));
    const bool learns_biases = context->saved_data["dbias"].toBool();
    const Tensor dbiases = learns_biases ? chunks.partial_sums(work.biases_NW.numel()) : Tensor();
    with_type(dout.scalar_type(), [&](auto type) {
      using T = decltype(type);
      const kernels::AttentionBackward<T> kernel{.layout = work.layout(dout.size(1)),
                                                 .q = rows<const T>(sources.q()),
                                                 .k = rows<const T>(sources.k()),
                                                 .v = rows<const T>(sources.v()),
                                                 .dout = rows<const T>(dout),
                                                 .dq = rows<T>(result.q()),
                                                 .dk = rows<T>(result.k()),
                                                 .dv = rows<T>(result.v())};
      chunks.run([&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
        auto part = kernel;
        if (learns_biases) part.dbias = work.of_distance_0(rows<float>(dbiases).row(chunk));
        part(begin, end);
      });
    });
    Tensor dbiases_ND;
    if (learns_biases) {
      const Tensor& biases_NW = work.biases_NW;
      dbiases_ND = chunks.total(dbiases).view_as(biases_NW).narrow(1, 0, biases_NW.size(1) - kernels::kWidest);
    }
    return {result.first, result.second, result.third, dbiases_ND, Tensor()};
  }
};

}  // namespace

Tensor fused_attention(const QueriesKeysValues& rows, const Layout& queries, const Layout& keys,
                       const HeadsForm& form) {
  const QueriesKeysValues whole{with_whole_rows(rows.first), with_whole_rows(rows.second), with_whole_rows(rows.third)};
  HeadsForm of_heads = form;
  if (form.biases_ND.defined()) of_heads.biases_ND = form.biases_ND.expand({form.heads, -1});
  const Work work(queries, keys, of_heads);
  if (wants_gradient(whole.first, whole.second, whole.third, of_heads.biases_ND)) {
    return AttentionFunction::apply(whole.first, optional(whole.second), optional(whole.third),
                                    optional(of_heads.biases_ND), work);
  }
  return compute_attention(whole, work);
}

// The fast paths of fused_attention_to_steps and fused_attention_to_memory: every row gathers pointers to its keys, and
// one loop reads them in place.

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

// The fast path of attention_step: attention of single queries, without gradients.

namespace {

// The centres of a local scope, fp32 [R], for sentences of the given lengths.
Tensor centres_of(const AttentionForm& form, const Tensor& query_RH, const Tensor& length_R, std::int64_t step) {
  if (!form.is_predictive()) return (length_R - 1).clamp_max(step).to(at::kFloat);
  const Tensor inner_RH = ops::linear(query_RH, *form.inner_HH, {}, Activation::tanh);
  return ops::linear(inner_RH, *form.centre_1H, {}).to(at::kFloat).sigmoid().squeeze(1) * length_R;
}

}  // namespace

Attended attention_step(const AttentionForm& form, const Tensor& query_RH, const Keys& memory,
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
    at::parallel_for(0, R, kGrain, attend);
  });
  return attended;
}

// The fast path of additive_energies: one work item per head of a sentence (kernels/query.hpp).

namespace {

// The operands, contiguous; the axes before the last two are one.
struct Operands {
  Tensor queries_GTA, keys_GSA, energy_NA;

  Chunks chunks() const { return {queries_GTA.size(0), queries_GTA.size(1) * keys_GSA.size(1) * queries_GTA.size(2)}; }
  kernels::AdditiveScores kernel(const Tensor& scores_GTS) const {
    return {.queries = queries_GTA.size(1),
            .keys = keys_GSA.size(1),
            .width = queries_GTA.size(2),
            .heads = energy_NA.size(0),
            .query = read<float>(queries_GTA),
            .key = read<float>(keys_GSA),
            .energy = read<float>(energy_NA),
            .scores = write<float>(scores_GTS)};
  }
};

Tensor compute_energies(const Operands& operands) {
  const Tensor &queries = operands.queries_GTA, &keys = operands.keys_GSA;
  const Tensor scores_GTS = at::empty({queries.size(0), queries.size(1), keys.size(1)}, queries.options());
  operands.chunks().run(operands.kernel(scores_GTS));
  return scores_GTS;
}

class AdditiveFunction : public torch::autograd::Function<AdditiveFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& queries_GTA, const Tensor& keys_GSA,
                        const Tensor& energy_NA) {
    context->save_for_backward({queries_GTA, keys_GSA, energy_NA});
    return compute_energies({queries_GTA, keys_GSA, energy_NA});
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Operands operands{saved[0], saved[1], saved[2]};
    const Tensor dscores = gradients[0].contiguous();
    const Tensor dqueries = at::empty_like(operands.queries_GTA), dkeys = at::zeros_like(operands.keys_GSA);
    const Chunks chunks = operands.chunks();
    const Tensor denergies = chunks.partial_sums(operands.energy_NA.numel());
    chunks.run([&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
      const kernels::AdditiveScoresBackward kernel{.of = operands.kernel({}),
                                                   .score_gradients = read<float>(dscores),
                                                   .query_gradient = write<float>(dqueries),
                                                   .key_gradient = write<float>(dkeys),
                                                   .energy_gradient = rows<float>(denergies).row(chunk)};
      kernel(begin, end);
    });
    return {dqueries, dkeys, chunks.total(denergies).view_as(operands.energy_NA)};
  }
};

}  // namespace

Tensor additive_energies(const Tensor& queries_TA, const Tensor& keys_SA, const Tensor& energy_NA) {
  std::vector<std::int64_t> shape = queries_TA.sizes().vec();
  shape.back() = keys_SA.size(-2);
  const std::int64_t groups = c10::multiply_integers(shape.begin(), shape.end() - 2);
  const auto grouped = [&](const Tensor& x) { return x.reshape({groups, x.size(-2), x.size(-1)}).contiguous(); };
  const Tensor queries = grouped(queries_TA), keys = grouped(keys_SA), energy = energy_NA.contiguous();
  const Tensor scores_GTS = wants_gradient(queries, keys, energy) ? AdditiveFunction::apply(queries, keys, energy)
                                                                  : compute_energies({queries, keys, energy});
  return scores_GTS.view(shape);
}

}  // namespace attend::ops::fast
