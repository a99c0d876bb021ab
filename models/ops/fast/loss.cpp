// The fast paths of logits, cross_entropy and symmetric_divergence. The forward pass of the losses already computes the
// gradients: for each block of rows it computes the logits and their gradients, and from these the gradients of hidden
// states and table. The backward pass only scales them.
#include "models/ops/kernels/rowwise.hpp"

#include <memory>
#include <mutex>

#include "core/error.hpp"
#include "models/ops/dispatch.hpp"
#include "models/ops/fast/products.hpp"
#include "models/ops/fast/support.hpp"

namespace attend::ops::fast {
namespace {

// Memory limit for the logit gradients of one block. Every block costs an addition to the table's gradient, so blocks
// should be large.
constexpr std::int64_t kBlockBytes = std::int64_t{32} << 20;
// Number of rows whose fp32 logits a thread holds at a time with bf16.
constexpr std::int64_t kRows = 48;
// Memory limit for a part of the table's gradient before it is added.
constexpr std::int64_t kProductBytes = std::int64_t{2} << 20;

void add_outer(const Tensor& dlogits_KV, const Tensor& hidden_KH, const Tensor& dtable_VH) {
  const std::int64_t vocabulary = dtable_VH.size(0), row_bytes = dtable_VH.size(1) * hidden_KH.element_size();
  const std::int64_t most = std::max<std::int64_t>(1, kProductBytes / row_bytes);
  for (std::int64_t first = 0; first < vocabulary; first += most) {
    const std::int64_t count = std::min(most, vocabulary - first);
    dtable_VH.narrow(0, first, count).add_(products::rounded_outer(dlogits_KV.narrow(1, first, count), hidden_KH));
  }
}

struct LossResult : CrossEntropy {
  Tensor dhidden, dtable, dbias;  // undefined unless requested
};
struct Wanted {
  bool hidden = false, table = false, bias = false;
  bool any() const { return hidden || table || bias; }
};
// `panels`: the table packed for bf16 products; null: products are computed in fp32.
LossResult compute_loss(const Tensor& hidden_MH, const Tensor& table_VH, const kernels::Bf16Panels* panels,
                        const Tensor& bias, const Tensor& labels, double smoothing, Wanted wanted) {
  const at::NoGradGuard no_grad;
  const std::int64_t rows = hidden_MH.size(0), vocabulary = table_VH.size(0), width = hidden_MH.size(1);
  const bool gradient = wanted.any();
  const Tensor fp32_table = panels == nullptr ? table_VH.to(at::kFloat) : Tensor();
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
    const Tensor logits = panels == nullptr ? products::linear(hidden.to(at::kFloat), fp32_table, bias) : Tensor();
    Tensor dlogits;
    if (gradient)
      dlogits = hidden.scalar_type() == at::kFloat ? logits : at::empty({count, vocabulary}, hidden.options());
    with_type(hidden.scalar_type(), [&](auto type) {
      using T = decltype(type);
      const auto loss_rows = [&](const float* some, std::int64_t begin, std::int64_t end) {  // `some`: from `begin` on
        const kernels::LossRows<T> kernel{.logits = some,
                                          .gradient = gradient ? write<T>(dlogits) + begin * vocabulary : nullptr,
                                          .labels = read<std::int64_t>(labels) + first + begin,
                                          .vocabulary = vocabulary,
                                          .smoothing = static_cast<float>(smoothing),
                                          .loss = write<float>(losses) + first + begin,
                                          .nll = write<float>(result.nll_M) + first + begin,
                                          .correct = write<std::int64_t>(correct) + first + begin};
        kernel(0, end - begin);
      };
      Chunks(count, vocabulary).run([&](std::int64_t begin, std::int64_t end) {
        if (panels == nullptr) return loss_rows(read<float>(logits) + begin * vocabulary, begin, end);
        const std::unique_ptr<float[]> some(new float[std::min(kRows, end - begin) * vocabulary]);
        for (std::int64_t row = begin; row < end; row += kRows) {
          const kernels::LogitsProduct product{.x = read<kernels::Bf16>(hidden) + row * width,
                                               .rows = std::min(kRows, end - row),
                                               .weight = *panels,
                                               .bias = read<float>(bias),
                                               .y = some.get()};
          kernels::multiply(product, 0, panels->groups());
          loss_rows(some.get(), row, row + product.rows);
        }
      });
    });
    if (wanted.hidden) result.dhidden.narrow(0, first, count).copy_(products::linear(dlogits, table_VH.t(), Tensor()));
    if (wanted.table) add_outer(dlogits, hidden, result.dtable);
    if (wanted.bias) result.dbias.add_(dlogits.sum(0, /*keepdim=*/false, at::kFloat));
  }
  result.loss = losses.sum();
  result.num_correct = correct.sum();
  return result;
}

// Null if x is fp32 or the processor has no bf16 instructions.
const kernels::Bf16Panels* bf16_panels(const Tensor& x, const Weight& weight) {
  if (x.scalar_type() != at::kBFloat16 || !has_native_bf16()) return nullptr;
  LogitsWeight& form = weight.for_logits();
  std::call_once(form.made, [&] {
    const Tensor working = weight.working().detach().contiguous();
    form.panels = kernels::make_panels(read<kernels::Bf16>(working), working.size(0), working.size(1));
  });
  return &form.panels;
}

struct DivergenceResult {
  Tensor sum;
  Tensor dfirst = {}, dsecond = {}, dtable = {}, dbias = {};  // undefined unless requested
};

// In each row, the gradient of symmetric_divergence with respect to the logits of p is ½ (p (log p - log q - KL(p‖q)) +
// p - q), and likewise for q.
DivergenceResult compute_divergence(const Tensor& first_MH, const Tensor& second_MH, const Weight& table,
                                    const Tensor& bias_V, bool gradient) {
  const at::NoGradGuard no_grad;
  const Tensor working_VH = table.working();
  const std::int64_t rows = first_MH.size(0), vocabulary = working_VH.size(0);
  DivergenceResult result{.sum = at::zeros({}, at::kFloat)};
  if (gradient) {
    result.dfirst = at::empty_like(first_MH), result.dsecond = at::empty_like(second_MH);
    result.dtable = at::zeros(working_VH.sizes(), at::kFloat);
    if (bias_V.defined()) result.dbias = at::zeros(vocabulary, at::kFloat);
  }
  // Smaller blocks than in cross_entropy: about ten tensors of the size of the logits exist at a time.
  const std::int64_t num_blocks = (rows * vocabulary * 16 + kBlockBytes - 1) / kBlockBytes;
  for (std::int64_t block = 0; block < num_blocks; ++block) {
    const std::int64_t begin = rows * block / num_blocks, count = rows * (block + 1) / num_blocks - begin;
    const auto of_block = [&](const Tensor& x_MH) { return x_MH.narrow(0, begin, count); };
    const Tensor log_p = at::log_softmax(fast::logits(of_block(first_MH), table, bias_V), 1), p = log_p.exp();
    const Tensor log_q = at::log_softmax(fast::logits(of_block(second_MH), table, bias_V), 1), q = log_q.exp();
    const Tensor ratio = log_p - log_q;
    const Tensor kl_pq = (p * ratio).sum(1, /*keepdim=*/true), kl_qp = -(q * ratio).sum(1, /*keepdim=*/true);
    result.sum.add_((kl_pq + kl_qp).sum(), 0.5);
    if (!gradient) continue;
    const auto add = [&](const Tensor& dlogits, const Tensor& hidden_MH, const Tensor& dhidden_MH) {
      const Tensor rounded = dlogits.to(hidden_MH.scalar_type());
      of_block(dhidden_MH).copy_(products::linear(rounded, working_VH.t(), Tensor()));
      add_outer(rounded, of_block(hidden_MH), result.dtable);
      if (bias_V.defined()) result.dbias.add_(dlogits.sum(0));
    };
    add((p * (ratio - kl_pq) + p - q) / 2, first_MH, result.dfirst);
    add((q * (-ratio - kl_qp) + q - p) / 2, second_MH, result.dsecond);
  }
  return result;
}

}  // namespace

Tensor logits(const Tensor& x_MH, const Weight& weight, const Tensor& bias) {
  const kernels::Bf16Panels* panels = bf16_panels(x_MH, weight);
  if (panels == nullptr) return products::linear(x_MH.to(at::kFloat), weight.working().to(at::kFloat), bias);
  const Tensor x = x_MH.contiguous(), y = at::empty({x.size(0), panels->outputs}, x.options().dtype(at::kFloat));
  const kernels::LogitsProduct product{.x = read<kernels::Bf16>(x),
                                       .rows = x.size(0),
                                       .weight = *panels,
                                       .bias = read<float>(bias),
                                       .y = write<float>(y)};
  Chunks(panels->groups(), product.rows * panels->inputs * 4).run([&](std::int64_t begin, std::int64_t end) {
    kernels::multiply(product, begin, end);
  });
  return y;
}

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
  LossResult result = compute_loss(hidden, output_VH.working(), bf16_panels(hidden, output_VH), bias_V, labels,
                                   label_smoothing, wanted);
  if (wanted.any()) {
    result.loss = with_gradients(result.loss, {hidden, output_VH.master(), bias_V},
                                 {result.dhidden, result.dtable, result.dbias});
  }
  return result;
}

Tensor symmetric_divergence(const Tensor& first_MH, const Tensor& second_MH, const Weight& output_VH,
                            const Tensor& bias_V) {
  const Tensor first = first_MH.contiguous(), second = second_MH.contiguous();
  const bool learns = wants_gradient(first, second, output_VH.master(), bias_V);
  const DivergenceResult result = compute_divergence(first, second, output_VH, bias_V, learns);
  if (!learns) return result.sum;
  return with_gradients(result.sum, {first, second, output_VH.master(), bias_V},
                        {result.dfirst, result.dsecond, result.dtable, result.dbias});
}

}  // namespace attend::ops::fast
