// attention: one work item per (sentence, head), see kernels/attention.hpp. The backward pass recomputes the weights
// instead of storing [heads, queries, keys] of them for every layer.
#include "models/ops/kernels/attention.hpp"
#include "core/error.hpp"
#include "models/ops/fast/support.hpp"
#include "models/ops/paths.hpp"

namespace attend::ops::fast {
namespace {

// Sizes and offsets; the offsets are tensors because autograd functions can save those.
struct Work {
  Tensor query_offsets, key_offsets;
  std::int64_t sentences, max_queries, max_keys;
  HeadsForm form;

  Work(const Layout& queries, const Layout& keys, const HeadsForm& heads_form)
      : query_offsets(queries.on(at::kCPU).offsets_B1),
        key_offsets(keys.on(at::kCPU).offsets_B1),
        sentences(queries.size()),
        max_queries(queries.max_length),
        max_keys(keys.max_length),
        form(heads_form) {}

  explicit Work(AutogradContext& context, const variable_list& saved)
      : query_offsets(saved[0]),
        key_offsets(saved[1]),
        sentences(saved[0].size(0) - 1),
        max_queries(context.saved_data["max_queries"].toInt()),
        max_keys(context.saved_data["max_keys"].toInt()),
        form{.heads = context.saved_data["heads"].toInt(),
             .causal = context.saved_data["causal"].toBool(),
             .dropout = remembered_dropout(context)} {}

  void remember_in(AutogradContext& context) const {
    context.saved_data["max_queries"] = max_queries;
    context.saved_data["max_keys"] = max_keys;
    context.saved_data["heads"] = form.heads;
    context.saved_data["causal"] = form.causal;
    remember(context, form.dropout);
  }

  kernels::AttentionLayout layout(std::int64_t width) const {
    return {.query_offsets = read<std::int64_t>(query_offsets),
            .key_offsets = read<std::int64_t>(key_offsets),
            .max_queries = max_queries,
            .max_keys = max_keys,
            .heads = form.heads,
            .head_size = width / form.heads,
            .causal = form.causal,
            .mask = DropoutMask(form.dropout),
            .drop = form.dropout.rate > 0};
  }

  // One chunk of work items per thread, equal in number: sentences of a batch have similar lengths.
  template <class F>
  void run(std::int64_t width, const F& f) const {
    Chunks(sentences * form.heads, max_queries * max_keys + (max_queries + max_keys) * width / form.heads)
        .run([&](std::int64_t, std::int64_t begin, std::int64_t end) { f(begin, end); });
  }
};

Tensor compute_attention(const QueriesKeysValues& sources, const Work& work) {
  const Tensor q = sources.q(), k = sources.k(), v = sources.v();
  Tensor result = at::empty(q.sizes(), q.options());
  with_type(q.scalar_type(), [&](auto type) {
    using T = decltype(type);
    const kernels::Attention<T> kernel{
        .q = rows<const T>(q), .k = rows<const T>(k), .v = rows<const T>(v), .out = rows<T>(result)};
    const auto layout = work.layout(q.size(1));
    work.run(q.size(1), [&](std::int64_t begin, std::int64_t end) { kernels::attention(layout, kernel, begin, end); });
  });
  return result;
}

class AttentionFunction : public torch::autograd::Function<AttentionFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& first, const std::optional<Tensor>& second,
                        const std::optional<Tensor>& third, const Work& work) {
    const QueriesKeysValues sources{first, defined_or_not(second), defined_or_not(third)};
    work.remember_in(*context);
    context->save_for_backward({work.query_offsets, work.key_offsets, sources.first, sources.second, sources.third});
    return compute_attention(sources, work);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Work work(*context, saved);
    const QueriesKeysValues sources{saved[2], saved[3], saved[4]};
    const auto like = [](const Tensor& x) { return x.defined() ? at::empty(x.sizes(), x.options()) : Tensor(); };
    const QueriesKeysValues result{like(sources.first), like(sources.second), like(sources.third)};
    const Tensor dout = gradients[0].contiguous();
    with_type(dout.scalar_type(), [&](auto type) {
      using T = decltype(type);
      const kernels::AttentionBackward<T> kernel{.q = rows<const T>(sources.q()),
                                                 .k = rows<const T>(sources.k()),
                                                 .v = rows<const T>(sources.v()),
                                                 .dout = rows<const T>(dout),
                                                 .dq = rows<T>(result.q()),
                                                 .dk = rows<T>(result.k()),
                                                 .dv = rows<T>(result.v())};
      const auto layout = work.layout(dout.size(1));
      work.run(dout.size(1),
               [&](std::int64_t begin, std::int64_t end) { kernels::attention_backward(layout, kernel, begin, end); });
    });
    return {result.first, result.second, result.third, Tensor()};
  }
};

// Rows may be strided, but each must be contiguous.
Tensor with_whole_rows(const Tensor& x) { return !x.defined() || x.stride(1) == 1 ? x : x.contiguous(); }

}  // namespace

std::optional<Tensor> fused_attention(const QueriesKeysValues& rows, const Layout& queries, const Layout& keys,
                                      const HeadsForm& form) {
  const QueriesKeysValues whole{with_whole_rows(rows.first), with_whole_rows(rows.second), with_whole_rows(rows.third)};
  const Work work(queries, keys, form);
  if (wants_gradient(whole.first) || wants_gradient(whole.second) || wants_gradient(whole.third)) {
    return AttentionFunction::apply(whole.first, optional(whole.second), optional(whole.third), work);
  }
  return compute_attention(whole, work);
}

}  // namespace attend::ops::fast
