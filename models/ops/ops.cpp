#include "models/ops/ops.hpp"

#include "core/error.hpp"
#include "models/ops/plain.hpp"

namespace attend::ops {

using torch::Tensor;

Tensor dropout(const Tensor& x, Dropout dropout) { return plain::dropout(x, dropout); }

Tensor linear(const Tensor& x, const Weight& weight, const Tensor& bias, Activation activation, Dropout after) {
  return plain::linear(x, weight, bias, activation, after);
}

Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps) {
  return plain::layer_norm(x, gamma, beta, eps);
}

AddNorm add_layer_norm(const Tensor& x, const Tensor& residual, const Tensor& gamma, const Tensor& beta, double eps,
                       Dropout dropout) {
  return plain::add_layer_norm(x, residual, gamma, beta, eps, dropout);
}

Tensor embed(const Sequences& tokens, const Weight& table_VH, double scale, const Tensor& positions_TH,
             Dropout dropout) {
  return plain::embed(tokens, table_VH, scale, positions_TH, dropout);
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Layout& queries, const Layout& keys,
                 AttentionShape shape, Dropout dropout) {
  ensure(queries.size() == keys.size(), "queries and keys have the same number of sentences");
  return plain::attention(q, k, v, queries, keys, shape, dropout);
}

Tensor attention_weights(const Tensor& q, const Tensor& k, const Layout& queries, const Layout& keys,
                         AttentionShape shape) {
  ensure(queries.size() == keys.size(), "queries and keys have the same number of sentences");
  return plain::attention_weights(q, k, queries, keys, shape);
}

CrossEntropy cross_entropy(const Tensor& hidden_MH, const Weight& output_VH, const Tensor& bias_V,
                           const Tensor& labels_M, double label_smoothing) {
  return plain::cross_entropy(hidden_MH, output_VH, bias_V, labels_M, label_smoothing);
}

Tensor pad(const Tensor& ragged, const Layout& layout) { return plain::pad(ragged, layout); }

Tensor unpad(const Tensor& padded, const Layout& layout) { return plain::unpad(padded, layout); }

}  // namespace attend::ops
