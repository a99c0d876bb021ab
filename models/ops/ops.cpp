#include "models/ops/ops.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "models/ops/dispatch.hpp"
#include "models/ops/fast/products.hpp"
#include "models/ops/paths.hpp"

namespace attend::ops {

using torch::Tensor;

Tensor dropout(const Tensor& x, Dropout dropout) {
  if (has_gpu_path(x)) return gpu::dropout(x, dropout);
  return has_fast_path(x) ? fast::dropout(x, dropout) : plain::dropout(x, dropout);
}

Tensor linear(const Tensor& x, const Weight& weight, const Tensor& bias, Activation activation) {
  ensure(x.size(-1) == weight.master().size(1), "x has as many columns as the weight");
  if (weight.packed() != nullptr && weight.packed()->precision == Precision::int8) {
    return fast::linear_int8(x, weight.packed()->integers, bias, activation,
                             has_fast_path(x) ? kernels::best_int8_kernel() : kernels::Int8Kernel::plain);
  }
  if (has_gpu_product(x, weight)) return gpu::linear(x, weight, bias, activation);
  return has_fast_product(x, weight) ? fast::linear(x, weight, bias, activation)
                                     : plain::linear(x, weight, bias, activation);
}

Tensor logits(const Tensor& x, const Weight& weight, const Tensor& bias) {
  ensure(x.dim() == 2 && x.size(1) == weight.master().size(1), "x has as many columns as the weight");
  if (x.scalar_type() == at::kFloat) return linear(x, weight, bias);
  if (has_gpu_product(x, weight)) return gpu::logits(x, weight, bias);
  return has_fast_product(x, weight) ? fast::logits(x, weight, bias) : plain::logits(x, weight, bias);
}

Tensor feed_forward(const Tensor& x, Affine first, Activation activation, Affine second) {
  ensure(x.dim() == 2 && first.bias.defined() && second.bias.defined(), "x has rows, and both layers have biases");
  const bool trained = first.weight.packed() == nullptr;
  if (trained && has_fast_product(x, first.weight)) return fast::feed_forward(x, first, activation, second);
  return linear(linear(x, first.weight, first.bias, activation), second.weight, second.bias);
}

Tensor gated(const Tensor& x, Activation activation) {
  ensure(x.dim() == 2 && x.size(1) % 2 == 0, "x has rows of two halves");
  return has_fast_path(x) ? fast::gated(x, activation) : plain::gated(x, activation);
}

Tensor additive_energies(const Tensor& queries_TA, const Tensor& keys_SA, const Tensor& energy_NA) {
  ensure(queries_TA.scalar_type() == at::kFloat && keys_SA.scalar_type() == at::kFloat, "queries and keys are fp32");
  ensure(queries_TA.sizes().slice(0, queries_TA.dim() - 2) == keys_SA.sizes().slice(0, keys_SA.dim() - 2),
         "queries and keys have the same leading axes");
  ensure(energy_NA.size(0) == 1 || energy_NA.size(0) == queries_TA.size(-3), "an energy vector for every head");
  return has_fast_path(queries_TA) ? fast::additive_energies(queries_TA, keys_SA, energy_NA)
                                   : plain::additive_energies(queries_TA, keys_SA, energy_NA);
}

Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps) {
  return has_fast_path(x) ? fast::layer_norm(x, gamma, beta, eps) : plain::layer_norm(x, gamma, beta, eps);
}

AddNorm add_layer_norm(const Tensor& x, const Tensor& residual, const Tensor& gamma, const Tensor& beta, double eps,
                       Dropout dropout) {
  if (has_gpu_path(x)) return plain::add_layer_norm(gpu::dropout(x, dropout), residual, gamma, beta, eps, {});
  return has_fast_path(x) && residual.scalar_type() == x.scalar_type()
             ? fast::add_layer_norm(x, residual, gamma, beta, eps, dropout)
             : plain::add_layer_norm(x, residual, gamma, beta, eps, dropout);
}

Tensor embed(const Sequences& tokens, const Weight& table_VH, double scale, const Tensor& positions_TH,
             Dropout dropout) {
  ensure(tokens.ids_M.device() == table_VH.master().device(), "tokens are on the device of their table");
  if (has_gpu_path(table_VH.working())) {
    return gpu::dropout(plain::embed(tokens, table_VH, scale, positions_TH, {}), dropout);
  }
  return has_fast_path(table_VH.working()) ? fast::embed(tokens, table_VH, scale, positions_TH, dropout)
                                           : plain::embed(tokens, table_VH, scale, positions_TH, dropout);
}

CrossEntropy cross_entropy(const Tensor& hidden_MH, const Weight& output_VH, const Tensor& bias_V,
                           const Tensor& labels_M, double label_smoothing) {
  ensure(labels_M.device() == hidden_MH.device(), "labels are on the device of the hidden states");
  if (has_gpu_product(hidden_MH, output_VH)) {
    return gpu::cross_entropy(hidden_MH, output_VH, bias_V, labels_M, label_smoothing);
  }
  return has_fast_product(hidden_MH, output_VH)
             ? fast::cross_entropy(hidden_MH, output_VH, bias_V, labels_M, label_smoothing)
             : plain::cross_entropy(hidden_MH, output_VH, bias_V, labels_M, label_smoothing);
}

Tensor symmetric_divergence(const Tensor& first_MH, const Tensor& second_MH, const Weight& output_VH,
                            const Tensor& bias_V) {
  ensure(first_MH.sizes() == second_MH.sizes(), "each row has a second one");
  return has_fast_product(first_MH, output_VH) ? fast::symmetric_divergence(first_MH, second_MH, output_VH, bias_V)
                                               : plain::symmetric_divergence(first_MH, second_MH, output_VH, bias_V);
}

TopLogProbs top_log_probs(const Tensor& logits_RV, std::int64_t k) {
  k = std::min(k, logits_RV.size(1));
  ensure(logits_RV.scalar_type() == at::kFloat && k > 0, "logits are fp32 and k is positive");
  return has_fast_path(logits_RV) ? fast::top_log_probs(logits_RV, k) : plain::top_log_probs(logits_RV, k);
}

Tensor orthogonal_factors(const Tensor& matrices_BRC) {
  ensure(matrices_BRC.dim() == 3 && matrices_BRC.scalar_type() == at::kFloat, "a batch of matrices in fp32");
  const bool is_tall = matrices_BRC.size(1) > matrices_BRC.size(2);
  const Tensor norms = at::linalg_vector_norm(matrices_BRC, 2, {1, 2}, /*keepdim=*/true).clamp_min(1e-7);
  const Tensor directions = matrices_BRC / norms, x = is_tall ? directions.mT() : directions;
  const Tensor factors = has_fast_path(x) ? fast::newton_schulz(x) : plain::newton_schulz(x);
  return is_tall ? factors.mT() : factors;
}

Tensor pad(const Tensor& ragged, const Layout& layout) {
  std::vector<std::int64_t> sizes = ragged.sizes().vec();
  sizes[0] = layout.size() * layout.max_length;
  return at::zeros(sizes, ragged.options().requires_grad(false))
      .index_copy(0, layout.on(ragged.device()).rows_M, ragged)
      .unflatten(0, {layout.size(), layout.max_length});
}

Tensor unpad(const Tensor& padded, const Layout& layout) {
  return padded.flatten(0, 1).index_select(0, layout.on(padded.device()).rows_M);
}

}  // namespace attend::ops
