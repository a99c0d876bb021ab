// The plain formulations: a few lines of ATen that read like the equations of ops.hpp, for any device, fp32 and bf16,
// differentiated by autograd. They are the reference for tests of the fast paths, and run wherever there is no fast
// path. Weights are read from the master; arguments and results are those of ops.hpp.
#pragma once

#include "models/ops/ops.hpp"

namespace attend::ops::plain {

torch::Tensor dropout(const torch::Tensor& x, Dropout dropout);
torch::Tensor activate(const torch::Tensor& x, Activation activation);
torch::Tensor linear(const torch::Tensor& x, const Weight& weight, const torch::Tensor& bias, Activation activation,
                     Dropout after);
torch::Tensor logits(const torch::Tensor& x, const Weight& weight, const torch::Tensor& bias);
torch::Tensor layer_norm(const torch::Tensor& x, const torch::Tensor& gamma, const torch::Tensor& beta, double eps);
AddNorm add_layer_norm(const torch::Tensor& x, const torch::Tensor& residual, const torch::Tensor& gamma,
                       const torch::Tensor& beta, double eps, Dropout dropout);
torch::Tensor embed(const Sequences& tokens, const Weight& table_VH, double scale, const torch::Tensor& positions_TH,
                    Dropout dropout);
torch::Tensor attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, const Layout& queries,
                        const Layout& keys, AttentionShape shape, Dropout dropout);
torch::Tensor attention_weights(const torch::Tensor& q, const torch::Tensor& k, const Layout& queries,
                                const Layout& keys, AttentionShape shape);
CrossEntropy cross_entropy(const torch::Tensor& hidden_MH, const Weight& output_VH, const torch::Tensor& bias_V,
                           const torch::Tensor& labels_M, double label_smoothing);
torch::Tensor pad(const torch::Tensor& ragged, const Layout& layout);
torch::Tensor unpad(const torch::Tensor& padded, const Layout& layout);

}  // namespace attend::ops::plain
