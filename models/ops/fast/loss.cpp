// cross_entropy. The forward pass already computes the gradients: for each block of rows it makes the logits, turns
// them into their gradient in place, and multiplies that into the gradients of hidden states and table. The backward
// pass only scales these.
#include "models/ops/kernels/loss.hpp"
#include "core/error.hpp"
#include "models/ops/fast/products.hpp"
#include "models/ops/fast/support.hpp"

namespace attend::ops::fast {
namespace {

// Maximum size of a block of logits. Each block costs an addition to the table's gradient, so blocks are large.
constexpr std::int64_t kBlockBytes = std::int64_t{32} << 20;
// Maximum size of the product for some rows of that gradient, before it is added.
constexpr std::int64_t kProductBytes = std::int64_t{2} << 20;

void add_outer(const Tensor& logits_KV, const Tensor& hidden_KH, const Tensor& dtable_VH) {
  const std::int64_t vocabulary = dtable_VH.size(0), row_bytes = dtable_VH.size(1) * hidden_KH.element_size();
  const std::int64_t most = std::max<std::int64_t>(1, kProductBytes / row_bytes);
  for (std::int64_t first = 0; first < vocabulary; first += most) {
    const std::int64_t count = std::min(most, vocabulary - first);
    dtable_VH.narrow(0, first, count).add_(products::rounded_outer(logits_KV.narrow(1, first, count), hidden_KH));
  }
}

struct LossResult {
  Tensor loss, nll_M, num_correct;
  Tensor dhidden, dtable, dbias;  // undefined unless requested
};
struct Wanted {
  bool hidden = false, table = false, bias = false;
};
LossResult compute_loss(const Tensor& hidden_MH, const Tensor& table_VH, const Tensor& bias, const Tensor& labels,
                        double smoothing, Wanted wanted) {
  const std::int64_t rows = hidden_MH.size(0), vocabulary = table_VH.size(0);
  const bool gradient = wanted.hidden || wanted.table || wanted.bias;
  const Tensor typed_bias = bias.defined() ? bias.detach().to(hidden_MH.scalar_type()) : bias;
  const Tensor losses = at::empty({rows}, at::kFloat), correct = at::empty({rows}, at::kLong);
  LossResult result;
  result.nll_M = at::empty({rows}, at::kFloat);
  if (wanted.hidden) result.dhidden = at::empty_like(hidden_MH);
  if (wanted.table) result.dtable = at::zeros(table_VH.sizes(), at::kFloat);
  if (wanted.bias) result.dbias = at::zeros({vocabulary}, at::kFloat);

  const std::int64_t row_bytes = vocabulary * static_cast<std::int64_t>(hidden_MH.element_size());
  const std::int64_t num_blocks = (rows * row_bytes + kBlockBytes - 1) / kBlockBytes;
  for (std::int64_t block = 0; block < num_blocks; ++block) {
    const std::int64_t first = rows * block / num_blocks, count = rows * (block + 1) / num_blocks - first;
    const Tensor hidden = hidden_MH.narrow(0, first, count);
    const Tensor logits = products::linear(hidden, table_VH, typed_bias);
    const Chunks chunks(count, vocabulary);
    with_type(logits.scalar_type(), [&](auto type) {
      using T = decltype(type);
      const kernels::LossRows<T> kernel{.logits = write<T>(logits),
                                        .labels = read<std::int64_t>(labels) + first,
                                        .vocabulary = vocabulary,
                                        .smoothing = static_cast<float>(smoothing),
                                        .gradient = gradient,
                                        .loss = write<float>(losses) + first,
                                        .nll = write<float>(result.nll_M) + first,
                                        .correct = write<std::int64_t>(correct) + first};
      chunks.run([&](std::int64_t, std::int64_t begin, std::int64_t end) { kernels::loss_rows(kernel, begin, end); });
    });
    if (wanted.hidden) result.dhidden.narrow(0, first, count).copy_(products::linear(logits, table_VH.t(), Tensor()));
    if (wanted.table) add_outer(logits, hidden, result.dtable);
    if (wanted.bias) result.dbias.add_(logits.sum(0, /*keepdim=*/false, at::kFloat));
  }
  result.loss = losses.sum();
  result.num_correct = correct.sum();
  return result;
}

class CrossEntropyFunction : public torch::autograd::Function<CrossEntropyFunction> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& hidden_MH, const Tensor& /*master*/,
                               const std::optional<Tensor>& bias, const Tensor& working, const Tensor& labels,
                               double smoothing, Wanted wanted) {
    const LossResult result = compute_loss(hidden_MH, working, defined_or_not(bias), labels, smoothing, wanted);
    context->save_for_backward({result.dhidden, result.dtable, result.dbias});
    context->mark_non_differentiable({result.nll_M, result.num_correct});
    return {result.loss, result.nll_M, result.num_correct};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    variable_list result = context->get_saved_variables();
    for (Tensor& gradient : result) {  // in place: autograd refuses a second backward pass through the graph
      if (gradient.defined()) gradient.mul_(gradients[0].to(gradient.scalar_type()));
    }
    result.resize(7);
    return result;
  }
};

}  // namespace

CrossEntropy cross_entropy(const Tensor& hidden_MH, const Weight& output_VH, const Tensor& bias_V,
                           const Tensor& labels_M, double label_smoothing) {
  const Tensor hidden = hidden_MH.contiguous(), labels = labels_M.contiguous();
  const auto* label = labels.const_data_ptr<std::int64_t>();
  ensure(labels.numel() == hidden.size(0), "there is one label per row");
  ensure(std::all_of(label, label + labels.numel(),
                     [&](std::int64_t i) { return i >= 0 && i < output_VH.master().size(0); }),
         "labels are within the vocabulary");
  const Wanted wanted{
      .hidden = wants_gradient(hidden), .table = wants_gradient(output_VH.master()), .bias = wants_gradient(bias_V)};
  if (wanted.hidden || wanted.table || wanted.bias) {
    const auto result = CrossEntropyFunction::apply(hidden, output_VH.master(), optional(bias_V), output_VH.working(),
                                                    labels, label_smoothing, wanted);
    return {.loss = result[0], .nll_M = result[1], .num_correct = result[2]};
  }
  const LossResult result = compute_loss(hidden, output_VH.working(), bias_V, labels, label_smoothing, wanted);
  return {.loss = result.loss, .nll_M = result.nll_M, .num_correct = result.num_correct};
}

}  // namespace attend::ops::fast
