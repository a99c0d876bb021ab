// The fast path of attention: one work item per (sentence, head), see kernels/attention.hpp. The backward pass
// recomputes the weights instead of storing [heads, queries, keys] for every layer.
#include <cmath>

#include "core/error.hpp"
#include "models/ops/fast/support.hpp"
#include "models/ops/kernels/attention.hpp"

namespace attend::ops::fast {
namespace {

// The tensors that contain q, k and v: one (q | k | v), two (q and k | v) or three.
struct Sources {
  Tensor first, second, third;

  std::int64_t width() const { return second.defined() ? first.size(1) : first.size(1) / 3; }
  Tensor q() const { return first.narrow(1, 0, width()); }
  Tensor k() const { return second.defined() ? second.narrow(1, 0, width()) : first.narrow(1, width(), width()); }
  Tensor v() const {
    if (third.defined()) return third;
    return second.defined() ? second.narrow(1, width(), width()) : first.narrow(1, 2 * width(), width());
  }
};

// Sizes and offsets; the offsets are tensors so that autograd functions can save them.
struct Work {
  Tensor query_offsets, key_offsets;
  std::int64_t sentences, max_queries, max_keys;
  AttentionShape shape;
  Dropout dropout;

  Work(const Layout& queries, const Layout& keys, AttentionShape attention_shape, Dropout attention_dropout)
      : query_offsets(at::tensor(queries.offsets, at::kLong)),
        key_offsets(at::tensor(keys.offsets, at::kLong)),
        sentences(queries.size()),
        max_queries(queries.max_length),
        max_keys(keys.max_length),
        shape(attention_shape),
        dropout(attention_dropout) {}

  explicit Work(AutogradContext& context, const variable_list& saved)
      : query_offsets(saved[0]),
        key_offsets(saved[1]),
        sentences(saved[0].size(0) - 1),
        max_queries(context.saved_data["max_queries"].toInt()),
        max_keys(context.saved_data["max_keys"].toInt()),
        shape{.heads = context.saved_data["heads"].toInt(), .causal = context.saved_data["causal"].toBool()},
        dropout(remembered_dropout(context)) {}

  void remember_in(AutogradContext& context) const {
    context.saved_data["max_queries"] = max_queries;
    context.saved_data["max_keys"] = max_keys;
    context.saved_data["heads"] = shape.heads;
    context.saved_data["causal"] = shape.causal;
    remember(context, dropout);
  }

  kernels::AttentionLayout layout(std::int64_t width) const {
    return {.query_offsets = read<std::int64_t>(query_offsets),
            .key_offsets = read<std::int64_t>(key_offsets),
            .max_queries = max_queries,
            .max_keys = max_keys,
            .heads = shape.heads,
            .head_size = width / shape.heads,
            .causal = shape.causal,
            .mask = DropoutMask(dropout),
            .drop = dropout.rate > 0};
  }

  // One chunk of work items per thread, equal in number: the sentences of a batch have similar lengths.
  template <class F>
  void run(std::int64_t width, const F& f) const {
    Chunks(sentences * shape.heads, max_queries * max_keys + (max_queries + max_keys) * width / shape.heads)
        .run([&](std::int64_t, std::int64_t begin, std::int64_t end) { f(begin, end); });
  }
};

Tensor compute_attention(const Sources& sources, const Work& work) {
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
    const Sources sources{first, defined_or_not(second), defined_or_not(third)};
    work.remember_in(*context);
    context->save_for_backward({work.query_offsets, work.key_offsets, sources.first, sources.second, sources.third});
    return compute_attention(sources, work);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Work work(*context, saved);
    const Sources sources{saved[2], saved[3], saved[4]};
    const auto like = [](const Tensor& x) { return x.defined() ? at::empty(x.sizes(), x.options()) : Tensor(); };
    const Sources result{like(sources.first), like(sources.second), like(sources.third)};
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

Tensor attend(const Sources& sources, const Layout& queries, const Layout& keys, AttentionShape shape,
              Dropout dropout) {
  const Work work(queries, keys, shape, dropout);
  if (wants_gradient(sources.first) || wants_gradient(sources.second) || wants_gradient(sources.third)) {
    return AttentionFunction::apply(sources.first, optional(sources.second), optional(sources.third), work);
  }
  return compute_attention(sources, work);
}

// Rows may be strided, but each must be contiguous.
Tensor with_whole_rows(const Tensor& x) { return x.stride(1) == 1 ? x : x.contiguous(); }

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Layout& queries, const Layout& keys,
                 AttentionShape shape, Dropout dropout) {
  return attend({with_whole_rows(q), with_whole_rows(k), with_whole_rows(v)}, queries, keys, shape, dropout);
}

Tensor self_attention(const Tensor& qkv, const Layout& layout, AttentionShape shape, Dropout dropout) {
  return attend({with_whole_rows(qkv), {}, {}}, layout, layout, shape, dropout);
}

Tensor cross_attention(const Tensor& q, const Tensor& kv, const Layout& queries, const Layout& keys,
                       AttentionShape shape, Dropout dropout) {
  return attend({with_whole_rows(q), with_whole_rows(kv), {}}, queries, keys, shape, dropout);
}

}  // namespace attend::ops::fast
