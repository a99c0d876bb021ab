#include "models/ops/ops.hpp"

#include <ATen/ATen.h>

#include "core/error.hpp"
#include "models/ops/dispatch.hpp"
#include "models/ops/fast/packed.hpp"
#include "models/ops/padded.hpp"
#include "models/ops/paths.hpp"

namespace attend::ops {

using torch::Tensor;

namespace {

// `kv` is the keys, the values or both.
void check_attention(const Tensor& q, const Tensor& kv, std::int64_t width, const Layout& queries, const Layout& keys,
                     AttentionShape shape) {
  ensure(queries.size() == keys.size(), "queries and keys have the same number of sentences");
  ensure(q.size(0) == queries.num_tokens(), "the layout matches the queries");
  ensure(kv.size(0) == keys.num_tokens(), "the layout matches the keys");
  ensure(q.scalar_type() == kv.scalar_type(), "queries and keys have the same type");
  ensure(!shape.causal || queries.offsets == keys.offsets, "causal attention is self-attention");
  ensure(width % shape.heads == 0, "the width is a multiple of the number of heads");
}

}  // namespace

Tensor dropout(const Tensor& x, Dropout dropout) {
  return has_fast_path(x) ? fast::dropout(x, dropout) : plain::dropout(x, dropout);
}

Tensor linear(const Tensor& x, const Weight& weight, const Tensor& bias, Activation activation, Dropout after) {
  ensure(x.size(-1) == weight.master().size(1), "x has as many columns as the weight");
  if (weight.packed() != nullptr && weight.packed()->precision == Precision::int8) {
    return fast::linear_int8(x, weight.packed()->integers, bias, activation,
                             has_fast_path(x) ? kernels::best_int8_kernel() : kernels::Int8Kernel::plain);
  }
  return has_fast_product(x, weight) ? fast::linear(x, weight, bias, activation, after)
                                     : plain::linear(x, weight, bias, activation, after);
}

Tensor logits(const Tensor& x, const Weight& weight, const Tensor& bias) {
  ensure(x.dim() == 2 && x.size(1) == weight.master().size(1), "x has as many columns as the weight");
  if (x.scalar_type() == at::kFloat) return linear(x, weight, bias);
  return has_fast_product(x, weight) ? fast::logits(x, weight, bias) : plain::logits(x, weight, bias);
}

Tensor feed_forward(const Tensor& x, Affine first, Activation activation, Dropout between, Affine second) {
  ensure(x.dim() == 2 && first.bias.defined() && second.bias.defined(), "x has rows, and both layers have biases");
  const bool trained = first.weight.packed() == nullptr;
  if (trained && has_fast_product(x, first.weight)) return fast::feed_forward(x, first, activation, between, second);
  return linear(linear(x, first.weight, first.bias, activation, between), second.weight, second.bias);
}

Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps) {
  return has_fast_path(x) ? fast::layer_norm(x, gamma, beta, eps) : plain::layer_norm(x, gamma, beta, eps);
}

AddNorm add_layer_norm(const Tensor& x, const Tensor& residual, const Tensor& gamma, const Tensor& beta, double eps,
                       Dropout dropout) {
  return has_fast_path(x) && residual.scalar_type() == x.scalar_type()
             ? fast::add_layer_norm(x, residual, gamma, beta, eps, dropout)
             : plain::add_layer_norm(x, residual, gamma, beta, eps, dropout);
}

Tensor embed(const Sequences& tokens, const Weight& table_VH, double scale, const Tensor& positions_TH,
             Dropout dropout) {
  return has_fast_path(table_VH.working()) ? fast::embed(tokens, table_VH, scale, positions_TH, dropout)
                                           : plain::embed(tokens, table_VH, scale, positions_TH, dropout);
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Layout& queries, const Layout& keys,
                 AttentionShape shape, Dropout dropout) {
  check_attention(q, k, q.size(1), queries, keys, shape);
  return has_fast_path(q) ? fast::attention(q, k, v, queries, keys, shape, dropout)
                          : plain::attention(q, k, v, queries, keys, shape, dropout);
}

Tensor self_attention(const Tensor& qkv, const Layout& layout, AttentionShape shape, Dropout dropout) {
  check_attention(qkv, qkv, qkv.size(1) / 3, layout, layout, shape);
  if (has_fast_path(qkv)) return fast::self_attention(qkv, layout, shape, dropout);
  const auto parts = qkv.chunk(3, 1);
  return plain::attention(parts[0], parts[1], parts[2], layout, layout, shape, dropout);
}

Tensor cross_attention(const Tensor& q, const Tensor& kv, const Layout& queries, const Layout& keys,
                       AttentionShape shape, Dropout dropout) {
  check_attention(q, kv, q.size(1), queries, keys, shape);
  if (has_fast_path(q)) return fast::cross_attention(q, kv, queries, keys, shape, dropout);
  const auto parts = kv.chunk(2, 1);
  return plain::attention(q, parts[0], parts[1], queries, keys, shape, dropout);
}

Tensor attention_weights(const Tensor& q, const Tensor& k, const Layout& queries, const Layout& keys,
                         AttentionShape shape) {
  check_attention(q, k, q.size(1), queries, keys, shape);
  const Tensor nothing_asks = missing(lengths(queries, q), queries.max_length);
  return plain::attention_weights(q, k, queries, keys, shape)
      .masked_fill(nothing_asks.view({queries.size(), 1, queries.max_length, 1}), 0);
}

CrossEntropy cross_entropy(const Tensor& hidden_MH, const Weight& output_VH, const Tensor& bias_V,
                           const Tensor& labels_M, double label_smoothing) {
  return has_fast_product(hidden_MH, output_VH)
             ? fast::cross_entropy(hidden_MH, output_VH, bias_V, labels_M, label_smoothing)
             : plain::cross_entropy(hidden_MH, output_VH, bias_V, labels_M, label_smoothing);
}

Tensor pad(const Tensor& ragged, const Layout& layout) { return plain::pad(ragged, layout); }

Tensor unpad(const Tensor& padded, const Layout& layout) { return plain::unpad(padded, layout); }

}  // namespace attend::ops
