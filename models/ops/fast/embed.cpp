// The fast path of embed: one pass forward; the backward pass is a scatter in which each thread owns some columns of
// the table.
#include "core/error.hpp"
#include "models/ops/fast/support.hpp"
#include "models/ops/kernels/rowwise.hpp"

namespace attend::ops::fast {
namespace {

Tensor places(const Layout& layout) {
  Tensor places = at::empty({layout.num_tokens()}, at::kLong);
  auto* place = places.mutable_data_ptr<std::int64_t>();
  for (std::int64_t b = 0; b < layout.size(); ++b) {
    for (std::int64_t t = 0; t < layout.length(b); ++t) *place++ = t;
  }
  return places;
}

Tensor compute_embed(const Tensor& ids, const Tensor& places, const Tensor& table, double scale,
                     const Tensor& positions, at::ScalarType to, Dropout dropout) {
  const std::int64_t width = table.size(1);
  Tensor y = at::empty({ids.numel(), width}, table.options().dtype(to).requires_grad(false));
  with_type(to, [&](auto type) {
    using T = decltype(type);
    Chunks(ids.numel(), width)
        .run(kernels::Embed<T>{.ids = read<std::int64_t>(ids),
                               .places = read<std::int64_t>(places),
                               .table = read<float>(table),
                               .positions = read<float>(positions),
                               .y = write<T>(y),
                               .width = width,
                               .scale = static_cast<float>(scale),
                               .mask = DropoutMask(dropout)});
  });
  return y;
}

class EmbedFunction : public torch::autograd::Function<EmbedFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& table, const std::optional<Tensor>& positions,
                        const Tensor& ids, const std::optional<Tensor>& places, double scale, at::ScalarType to,
                        Dropout dropout) {
    context->save_for_backward({ids, defined_or_not(places)});
    context->saved_data["scale"] = scale;
    context->saved_data["rows"] = table.size(0);
    context->saved_data["positions"] = positions ? positions->size(0) : 0;
    hold(*context, dropout);
    return compute_embed(ids, defined_or_not(places), table, scale, defined_or_not(positions), to, dropout);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const Dropout dropout = held<Dropout>(*context);
    const variable_list saved = context->get_saved_variables();
    const Tensor dy = gradients[0].contiguous();
    const std::int64_t width = dy.size(1);
    const auto gradient = [&](std::size_t input, const char* rows) {
      return context->needs_input_grad(input) ? at::zeros({context->saved_data[rows].toInt(), width}, at::kFloat)
                                              : Tensor();
    };
    const Tensor dtable = gradient(0, "rows"), dpositions = gradient(1, "positions");
    with_type(dy.scalar_type(), [&](auto type) {
      using T = decltype(type);
      const kernels::EmbedBackward<T> kernel{.ids = read<std::int64_t>(saved[0]),
                                             .places = read<std::int64_t>(saved[1]),
                                             .dy = read<T>(dy),
                                             .dtable = write<float>(dtable),
                                             .dpositions = write<float>(dpositions),
                                             .num_tokens = dy.size(0),
                                             .width = width,
                                             .scale = static_cast<float>(context->saved_data["scale"].toDouble()),
                                             .mask = DropoutMask(dropout)};
      Chunks(kernels::padded(width) / kernels::kWidest, dy.size(0) * kernels::kWidest).run(kernel);
    });
    return {dtable, dpositions, Tensor(), Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor embed(const Sequences& tokens, const Weight& table_VH, double scale, const Tensor& positions_TH,
             Dropout dropout) {
  const Tensor ids = tokens.ids_M.contiguous();
  const Tensor& table = table_VH.master();
  const auto* id = ids.const_data_ptr<std::int64_t>();
  ensure(std::all_of(id, id + ids.numel(), [&](std::int64_t i) { return i >= 0 && i < table.size(0); }),
         "token ids are within the table");
  Tensor place;
  if (positions_TH.defined()) {
    ensure(ids.numel() == tokens.layout.num_tokens(), "the layout matches the tokens");
    ensure(tokens.layout.max_length <= positions_TH.size(0), "there are enough positions");
    place = places(tokens.layout);
  }
  const Tensor positions = positions_TH.defined() ? positions_TH.contiguous() : positions_TH;
  const auto type = table_VH.working().scalar_type();
  if (wants_gradient(table, positions)) {
    return EmbedFunction::apply(table, optional(positions), ids, optional(place), scale, type, dropout);
  }
  return compute_embed(ids, place, table, scale, positions, type, dropout);
}

}  // namespace attend::ops::fast
