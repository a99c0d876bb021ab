// The fast path of fused_attention: one work item per sentence and head (kernels/attention.hpp). The backward pass
// recomputes the weights instead of storing them.
#include "models/ops/kernels/attention.hpp"
#include "models/ops/fast/support.hpp"
#include "models/ops/paths.hpp"

namespace attend::ops::fast {
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
    const kernels::Attention<T> kernel{.layout = work.layout(q.size(1)),
                                       .q = rows<const T>(q),
                                       .k = rows<const T>(k),
                                       .v = rows<const T>(v),
                                       .out = rows<T>(result)};
    work.chunks(q.size(1)).run(
        [&](std::int64_t /*chunk*/, std::int64_t begin, std::int64_t end) { kernels::attention(kernel, begin, end); });
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
        kernels::attention_backward(part, begin, end);
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

}  // namespace attend::ops::fast
