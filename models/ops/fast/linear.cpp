// The fast paths of linear, feed_forward, gated and dropout. Matrix product, bias and relu or tanh are one call; gelu
// and swish, whose gradients need their inputs, are a separate pass.
#include "models/ops/fast/products.hpp"
#include "models/ops/fast/support.hpp"
#include "models/ops/kernels/rowwise.hpp"

namespace attend::ops::fast {
namespace {

bool needs_input(Activation activation) {
  return activation == Activation::gelu || activation == Activation::gelu_tanh || activation == Activation::swish;
}

void pointwise(const Tensor& x, const Tensor& y, Activation activation, Dropout dropout = {}) {
  // Treats the tensor as a flat array, split at multiples of whole vectors.
  constexpr std::int64_t kBlock = 4 * kernels::kWidest;
  const std::int64_t numel = x.numel();
  with_type(x.scalar_type(), [&](auto type) {
    using T = decltype(type);
    const kernels::Pointwise<T> kernel{
        .x = read<T>(x), .y = write<T>(y), .activation = activation, .mask = DropoutMask(dropout)};
    Chunks((numel + kBlock - 1) / kBlock, kBlock).run([&](std::int64_t begin, std::int64_t end) {
      kernel(begin * kBlock, std::min(end * kBlock, numel));
    });
  });
}

// Writes the gradient to `dx`, which may be dy (and must be for the identity), and recomputes y from its input if y is
// defined. Returns the column sums of dx if requested.
Tensor pointwise_backward(const Tensor& dy, const Tensor& saved, Activation activation, const Tensor& dx,
                          const Tensor& y, bool want_column_sums) {
  const bool identity = activation == Activation::none;
  if (identity && !want_column_sums) return {};
  const std::int64_t width = dy.size(-1);
  const Chunks chunks(width > 0 ? dy.numel() / width : 0, width);
  const Tensor partial = want_column_sums ? chunks.partial_sums(width) : Tensor();
  with_type(dy.scalar_type(), [&](auto type) {
    using T = decltype(type);
    chunks.run([&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
      const kernels::PointwiseBackward<T> kernel{
          .dy = read<T>(dy),
          .saved = read<T>(saved),
          .dx = identity ? nullptr : write<T>(dx),
          .y = write<T>(y),
          .column_sums = want_column_sums ? write<float>(partial) + chunk * width : nullptr,
          .width = width,
          .activation = activation};
      kernel(begin, end);
    });
  });
  return want_column_sums ? chunks.total(partial) : Tensor();
}

// The result of linear, and the tensor that its gradient needs.
struct LinearResult {
  Tensor y;
  Tensor saved;  // see PointwiseBackward
};
LinearResult compute_linear(const Tensor& x_MI, const Tensor& weight, const Tensor& bias, Activation activation) {
  const Tensor typed_bias = bias.defined() ? bias.detach().to(x_MI.scalar_type()) : bias;
  if (needs_input(activation)) {
    const Tensor before = products::linear(x_MI, weight, typed_bias);
    const Tensor y = at::empty_like(before);
    pointwise(before, y, activation);
    return {y, before};
  }
  const Tensor y = products::linear(x_MI, weight, typed_bias, activation);
  return {y, activation == Activation::none ? Tensor() : y};
}

class LinearFunction : public torch::autograd::Function<LinearFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x_MI, const Tensor& /*master*/,
                        const std::optional<Tensor>& bias, const Tensor& working, Activation activation) {
    const LinearResult result = compute_linear(x_MI, working, defined_or_not(bias), activation);
    context->save_for_backward({saved_unless_recomputable(x_MI), working, result.saved});
    context->saved_data["activation"] = static_cast<std::int64_t>(activation);
    context->saved_data["bias"] = bias.has_value();
    return result.y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor& working = saved[1];
    const bool want_bias = context->saved_data["bias"].toBool() && context->needs_input_grad(2);
    const auto activation = static_cast<Activation>(context->saved_data["activation"].toInt());
    const Tensor dy = gradients[0].contiguous(), dx = activation == Activation::none ? dy : at::empty_like(dy);
    variable_list result(5);
    result[2] = pointwise_backward(dy, saved[2], activation, dx, Tensor(), want_bias);
    if (context->needs_input_grad(0)) result[0] = products::linear(dx, working.t(), Tensor());
    if (context->needs_input_grad(1)) result[1] = products::outer(dx, saved_or_recomputed(saved[0]));
    return result;
  }
};

// Feed-forward with gelu or swish. Stores the activation's input; the backward pass overwrites it with the output.
class FeedForwardFunction : public torch::autograd::Function<FeedForwardFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x_MH, const Tensor& /*master1*/, const Tensor& bias1,
                        const Tensor& /*master2*/, const Tensor& bias2, const Tensor& working1, const Tensor& working2,
                        Activation activation) {
    const LinearResult hidden = compute_linear(x_MH, working1, bias1, activation);
    context->save_for_backward({saved_unless_recomputable(x_MH), working1, hidden.saved, working2});
    context->saved_data["activation"] = static_cast<std::int64_t>(activation);
    return compute_linear(hidden.y, working2, bias2, Activation::none).y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor &working1 = saved[1], &before_MF = saved[2], &working2 = saved[3];
    const auto activation = static_cast<Activation>(context->saved_data["activation"].toInt());
    const Tensor dy_MH = gradients[0].contiguous();
    const Tensor hidden_MF = context->needs_input_grad(3) ? before_MF : Tensor();
    before_MF.unsafeGetTensorImpl()->bump_version();  // so that autograd refuses a second backward pass
    const Tensor d_MF =
        products::linear(dy_MH, working2.t(), Tensor());  // gradient of the activation's output, then of its input
    variable_list result(8);
    result[2] = pointwise_backward(d_MF, before_MF, activation, d_MF, hidden_MF, context->needs_input_grad(2));
    if (hidden_MF.defined()) result[3] = products::outer(dy_MH, hidden_MF);
    result[4] = pointwise_backward(dy_MH, Tensor(), Activation::none, dy_MH, Tensor(), context->needs_input_grad(4));
    if (context->needs_input_grad(0)) result[0] = products::linear(d_MF, working1.t(), Tensor());
    if (context->needs_input_grad(1)) result[1] = products::outer(d_MF, saved_or_recomputed(saved[0]));
    return result;
  }
};

class DropoutFunction : public torch::autograd::Function<DropoutFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, Dropout dropout) {
    hold(*context, dropout);
    const Tensor y = at::empty_like(x, at::MemoryFormat::Contiguous);
    pointwise(x.contiguous(), y, Activation::none, dropout);
    return y;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const Tensor dx = at::empty_like(gradients[0], at::MemoryFormat::Contiguous);
    pointwise(gradients[0].contiguous(), dx, Activation::none, held<Dropout>(*context));
    return {dx, Tensor()};
  }
};

// The gate, or, if dy is defined, its gradient.
Tensor compute_gated(const Tensor& x_MC, const Tensor& dy_MF, Activation activation) {
  const std::int64_t rows = x_MC.size(0), width = x_MC.size(1) / 2;
  const Tensor result = at::empty({rows, dy_MF.defined() ? 2 * width : width}, x_MC.options());
  with_type(x_MC.scalar_type(), [&](auto type) {
    using T = decltype(type);
    Chunks(rows, 2 * width)
        .run(kernels::Gated<T>{.x = read<T>(x_MC),
                               .dy = read<T>(dy_MF),
                               .result = write<T>(result),
                               .width = width,
                               .activation = activation});
  });
  return result;
}

class GatedFunction : public torch::autograd::Function<GatedFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x_MC, Activation activation) {
    context->save_for_backward({x_MC});
    context->saved_data["activation"] = static_cast<std::int64_t>(activation);
    return compute_gated(x_MC, Tensor(), activation);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto activation = static_cast<Activation>(context->saved_data["activation"].toInt());
    return {compute_gated(context->get_saved_variables()[0], gradients[0].contiguous(), activation), Tensor()};
  }
};

// Calls f(rows begin, rows end, columns begin, columns end) for one part per thread. Threads split the rows if there
// are many, else the columns, that is, the panels of the weight. Small products are not split.
template <class F>
void share_product(std::int64_t rows, std::int64_t columns, std::int64_t cost, const F& f) {
  constexpr std::int64_t kManyRows = 256;
  if (rows >= kManyRows) {
    Chunks(rows, cost * columns).run([&](std::int64_t begin, std::int64_t end) { f(begin, end, 0, columns); });
  } else {
    Chunks(columns, cost * rows).run([&](std::int64_t begin, std::int64_t end) { f(0, rows, begin, end); });
  }
}

// Rows [begin, end) of the product.
template <class Product>
Product part_of(Product product, std::int64_t begin, std::int64_t end) {
  product.x += begin * product.weight.inputs;
  product.y += begin * product.weight.outputs;
  product.rows = end - begin;
  return product;
}

Tensor packed_linear(const Tensor& x_MI, const PackedWeight& weight, const Tensor& bias, Activation activation) {
  if (weight.precision == Precision::bf16) return compute_linear(x_MI, weight.blocked, bias, activation).y;
  const Tensor x = x_MI.contiguous(), y = at::empty({x.size(0), weight.panels.outputs}, x.options());
  const kernels::PanelProduct product{.x = read<float>(x),
                                      .rows = x.size(0),
                                      .weight = weight.panels,
                                      .bias = read<float>(bias),
                                      .relu = activation == Activation::relu,
                                      .y = write<float>(y)};
  share_product(x.size(0), weight.panels.count(), weight.panels.inputs,
                [&](std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t last) {
                  kernels::multiply(part_of(product, begin, end), first, last);
                });
  if (!product.relu && activation != Activation::none) pointwise(y, y, activation);
  return y;
}

}  // namespace

Tensor dropout(const Tensor& x, Dropout dropout) {
  if (dropout.rate == 0) return x;
  return DropoutFunction::apply(x, dropout);
}

Tensor gated(const Tensor& x, Activation activation) {
  if (!wants_gradient(x)) return compute_gated(x.contiguous(), Tensor(), activation);
  return GatedFunction::apply(x.contiguous(), activation);
}

Tensor feed_forward(const Tensor& x, Affine first, Activation activation, Affine second) {
  const bool learns = wants_gradient(x, first.weight.master(), first.bias, second.weight.master(), second.bias);
  if (!learns || !needs_input(activation)) {
    const Tensor hidden = fast::linear(x, first.weight, first.bias, activation);
    return fast::linear(hidden, second.weight, second.bias, Activation::none);
  }
  return FeedForwardFunction::apply(x, first.weight.master(), first.bias, second.weight.master(), second.bias,
                                    first.weight.working(), second.weight.working(), activation);
}

Tensor linear_int8(const Tensor& x, const kernels::Int8Weight& weight, const Tensor& bias, Activation activation,
                   kernels::Int8Kernel kernel) {
  const Tensor input = x.contiguous();
  auto sizes = x.sizes().vec();
  sizes.back() = weight.outputs;
  const Tensor y = at::empty(sizes, x.options());
  const kernels::Int8Product product{.x = read<float>(input),
                                     .rows = weight.inputs > 0 ? x.numel() / weight.inputs : 0,
                                     .weight = weight,
                                     .bias = read<float>(bias),
                                     .relu = activation == Activation::relu,
                                     .y = write<float>(y)};
  share_product(product.rows, weight.groups(), weight.inputs * kernels::Int8Weight::kGroup / 16,
                [&](std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t last) {
                  kernels::multiply(part_of(product, begin, end), first, last, kernel);
                });
  if (!product.relu && activation != Activation::none) pointwise(y, y, activation);
  return y;
}

Tensor linear(const Tensor& x, const Weight& weight, const Tensor& bias, Activation activation) {
  const Tensor x_MI = x.dim() == 2 ? x : x.reshape({-1, x.size(-1)});
  Tensor y;
  if (weight.packed() != nullptr) {
    y = packed_linear(x_MI, *weight.packed(), bias, activation);
  } else if (wants_gradient(x, weight.master(), bias)) {
    y = LinearFunction::apply(x_MI, weight.master(), optional(bias), weight.working(), activation);
  } else {
    y = compute_linear(x_MI, weight.working(), bias, activation).y;
  }
  if (x.dim() == 2) return y;
  auto sizes = x.sizes().vec();
  sizes.back() = y.size(-1);
  return y.view(sizes);
}

}  // namespace attend::ops::fast
