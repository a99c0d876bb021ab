// The GPU's forms of dropout, linear, logits and cross_entropy.
#include <algorithm>
#include <tuple>
#include <vector>

#include "models/ops/gpu/support.hpp"

namespace attend::ops::gpu {

// One kernel in each pass, where the plain formulation computes the hash of every element in a dozen.
Tensor dropout(const Tensor& x, Dropout dropout) {
  if (dropout.rate == 0) return x;
  seed_generator(x.device(), dropout.key);
  return std::get<0>(at::native_dropout(x, dropout.rate, /*train=*/true));
}

namespace {

// x Wᵀ + b. Products read the working form, which is made once an update; the gradients of the master and the bias are
// fp32 sums that are never rounded to bf16.
class ProductFunction : public torch::autograd::Function<ProductFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x_MI, const Tensor& /*master*/,
                        const std::optional<Tensor>& bias, const Tensor& working) {
    context->save_for_backward({x_MI, working});
    context->saved_data["bias"] = bias.has_value();
    return at::linear(x_MI, working, bias ? bias->to(x_MI.scalar_type()) : Tensor());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor& dy = gradients[0];
    variable_list result(4);
    if (context->needs_input_grad(0)) result[0] = dy.mm(saved[1]);
    if (context->needs_input_grad(1)) result[1] = product_in_fp32(dy.t(), saved[0]);
    if (context->saved_data["bias"].toBool() && context->needs_input_grad(2))
      result[2] = dy.sum(0, /*keepdim=*/false, at::kFloat);
    return result;
  }
};

Tensor product(const Tensor& x_MI, const Weight& weight, const Tensor& bias) {
  if (wants_gradient(x_MI, weight.master(), bias)) {
    return ProductFunction::apply(x_MI, weight.master(), optional(bias), weight.working());
  }
  return at::linear(x_MI, weight.working(), bias.defined() ? bias.to(x_MI.scalar_type()) : bias);
}

Tensor logits_of(const Tensor& x_MH, const Tensor& working_VH, const Tensor& bias) {
  Tensor y = product_in_fp32(x_MH, working_VH.t());
  return bias.defined() ? y.add_(bias) : y;
}

}  // namespace

Tensor linear(const Tensor& x, const Weight& weight, const Tensor& bias, Activation activation) {
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes.back() = weight.master().size(0);
  const Tensor y_MO = product(x.reshape({-1, x.size(-1)}), weight, bias);
  return plain::activated(y_MO, activation).view(sizes);
}

Tensor logits(const Tensor& x_MH, const Weight& weight, const Tensor& bias) {
  return logits_of(x_MH, weight.working(), bias);
}

namespace {

// Memory limit for the fp32 logits of one block of rows.
constexpr std::int64_t kLossBytes = std::int64_t{256} << 20;

struct LossResult : CrossEntropy {
  Tensor dhidden, dtable, dbias;  // undefined unless gradients are wanted
};

// The gradient of the loss with respect to the logits is softmax - (1 - ε) [label] - ε / V. The forward pass computes
// it, and from it the other gradients, block by block; the backward pass only scales them.
LossResult compute_loss(const Tensor& hidden_MH, const Tensor& table_VH, const Tensor& bias_V, const Tensor& labels_M,
                        double smoothing, bool gradient) {
  const at::NoGradGuard no_grad;
  const std::int64_t rows = hidden_MH.size(0), vocabulary = table_VH.size(0);
  const auto fp32 = hidden_MH.options().dtype(at::kFloat).requires_grad(false);
  LossResult result;
  result.loss = at::zeros({}, fp32);
  result.nll_M = at::empty({rows}, fp32);
  result.num_correct = at::zeros({}, fp32.dtype(at::kLong));
  if (gradient) {
    result.dhidden = at::empty_like(hidden_MH);
    result.dtable = at::zeros(table_VH.sizes(), fp32);
    if (bias_V.defined()) result.dbias = at::zeros({vocabulary}, fp32);
  }
  const std::int64_t most = std::max<std::int64_t>(1, kLossBytes / (4 * vocabulary));
  for (std::int64_t first = 0; first < rows; first += most) {
    const std::int64_t count = std::min(most, rows - first);
    const Tensor hidden = hidden_MH.narrow(0, first, count), labels = labels_M.narrow(0, first, count).unsqueeze(1);
    const Tensor logits = logits_of(hidden, table_VH, bias_V);
    result.num_correct.add_(logits.gather(1, labels).squeeze(1).eq(logits.amax(1)).sum());
    Tensor log_p = at::log_softmax(logits, 1);
    const Tensor nll = result.nll_M.narrow(0, first, count);
    nll.copy_(log_p.gather(1, labels).squeeze(1).neg());
    result.loss.add_(nll.sum(), 1 - smoothing);
    if (smoothing > 0) result.loss.sub_(log_p.sum(), smoothing / static_cast<double>(vocabulary));
    if (!gradient) continue;
    const Tensor& dlogits = log_p.exp_();
    if (smoothing > 0) dlogits.sub_(smoothing / static_cast<double>(vocabulary));
    dlogits.scatter_add_(1, labels, at::full_like(labels, smoothing - 1, fp32));
    if (bias_V.defined()) result.dbias.add_(dlogits.sum(0));
    const Tensor rounded = dlogits.to(hidden.scalar_type());
    result.dhidden.narrow(0, first, count).copy_(rounded.mm(table_VH));
    result.dtable.add_(product_in_fp32(rounded.t(), hidden));
  }
  return result;
}

}  // namespace

CrossEntropy cross_entropy(const Tensor& hidden_MH, const Weight& output_VH, const Tensor& bias_V,
                           const Tensor& labels_M, double label_smoothing) {
  const bool learns = wants_gradient(hidden_MH, output_VH.master(), bias_V);
  LossResult result = compute_loss(hidden_MH, output_VH.working(), bias_V, labels_M, label_smoothing, learns);
  if (learns) {
    result.loss = with_gradients(result.loss, {hidden_MH, output_VH.master(), bias_V},
                                 {result.dhidden, result.dtable, result.dbias});
  }
  return result;
}

}  // namespace attend::ops::gpu
