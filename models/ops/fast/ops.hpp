// The fast paths on a CPU: autograd functions that use the loops in kernels/ and the matrix products of products.hpp.
// Arguments and results are those of ops.hpp; dispatch.hpp decides when they may be called. Results are bitwise
// reproducible for a given number of threads: rows are cut into fixed chunks, and partial sums are added in order.
#pragma once

#include "models/ops/kernels/int8.hpp"
#include "models/ops/ops.hpp"

namespace attend::ops::fast {

torch::Tensor dropout(const torch::Tensor& x, Dropout dropout);
torch::Tensor linear(const torch::Tensor& x, const Weight& weight, const torch::Tensor& bias, Activation activation,
                     Dropout after);
torch::Tensor logits(const torch::Tensor& x, const Weight& weight, const torch::Tensor& bias);
// linear with a weight frozen to 8 bits: x and the result are fp32.
torch::Tensor linear_int8(const torch::Tensor& x, const kernels::Int8Weight& weight, const torch::Tensor& bias,
                          Activation activation, kernels::Int8Kernel kernel);
torch::Tensor feed_forward(const torch::Tensor& x, Affine first, Activation activation, Dropout between, Affine second);
torch::Tensor layer_norm(const torch::Tensor& x, const torch::Tensor& gamma, const torch::Tensor& beta, double eps);
AddNorm add_layer_norm(const torch::Tensor& x, const torch::Tensor& residual, const torch::Tensor& gamma,
                       const torch::Tensor& beta, double eps, Dropout dropout);
torch::Tensor embed(const Sequences& tokens, const Weight& table_VH, double scale, const torch::Tensor& positions_TH,
                    Dropout dropout);
torch::Tensor attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, const Layout& queries,
                        const Layout& keys, AttentionShape shape, Dropout dropout);
torch::Tensor self_attention(const torch::Tensor& qkv, const Layout& layout, AttentionShape shape, Dropout dropout);
torch::Tensor cross_attention(const torch::Tensor& q, const torch::Tensor& kv, const Layout& queries,
                              const Layout& keys, AttentionShape shape, Dropout dropout);
CrossEntropy cross_entropy(const torch::Tensor& hidden_MH, const Weight& output_VH, const torch::Tensor& bias_V,
                           const torch::Tensor& labels_M, double label_smoothing);

}  // namespace attend::ops::fast
