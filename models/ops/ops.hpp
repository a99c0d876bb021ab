// The arithmetic of the models. Every op has a plain formulation (plain/), a few lines of ATen that read like the
// equation; some also have a fast path (fast/), used where dispatch.hpp allows it. ATTEND_PLAIN_OPS=1 disables all fast
// paths.
//
// Legend: docs/architecture.md. Activations are fp32 or bf16; norms, softmax and losses are computed in fp32.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "data/batch/batch.hpp"
#include "models/ops/elementwise.hpp"
#include "models/ops/weight.hpp"

namespace attend::ops {

// dropout(x), any shape. Srivastava et al. 2014.
torch::Tensor dropout(const torch::Tensor& x, Dropout dropout);

// activation(x Wᵀ + b): x [..., I], weight [O, I], bias [O] or undefined; [..., O] in x's type.
torch::Tensor linear(const torch::Tensor& x, const Weight& weight, const torch::Tensor& bias,
                     Activation activation = Activation::none);

// x Wᵀ + b in fp32, even for bf16 factors: as input of a softmax over a vocabulary, where rounding would reorder close
// candidates. x [M, H], weight [V, H], bias [V] or undefined. Inference only.
torch::Tensor logits(const torch::Tensor& x, const Weight& weight, const torch::Tensor& bias);

// The two layers of a Transformer block's feed-forward network (arXiv 1706.03762, eq. 2):
// linear(linear(x, first, activation), second). x [M, H], weights [F, H] and [H, F], biases [F] and [H]. With gelu or
// swish, the fast path recomputes the inner activations in the backward pass instead of storing them.
struct Affine {
  const Weight& weight;
  const torch::Tensor& bias;
};
torch::Tensor feed_forward(const torch::Tensor& x, Affine first, Activation activation, Affine second);

// The gate of a gated linear unit, activation(a) ⊙ b of x = a | b [M, 2F]: [M, F]. Shazeer 2020 (arXiv 2002.05202, eq.
// 5). The fast path recomputes it from x in the backward pass.
torch::Tensor gated(const torch::Tensor& x, Activation activation);

// The additive score of N heads, v_n · tanh(q_t + k_s): queries [..., N, T, A], keys [..., N, S, A] and energy vectors
// [N, A], all fp32; [..., N, T, S]. With N = 1 there may be no axis of heads. The fast path keeps none of the inner
// values [..., N, T, S, A] and computes them again in the backward pass. Bahdanau et al. 2014 (arXiv 1409.0473, A.1.2).
torch::Tensor additive_energies(const torch::Tensor& queries_TA, const torch::Tensor& keys_SA,
                                const torch::Tensor& energy_NA);

// (x - mean) / sqrt(var + eps) * gamma + beta over the last dimension (Ba et al. 2016, arXiv 1607.06450). With beta
// undefined, root mean square layer norm, which does not centre: x / sqrt(mean(x²) + eps) * gamma (Zhang and Sennrich
// 2019, arXiv 1910.07467, eq. 4).
torch::Tensor layer_norm(const torch::Tensor& x, const torch::Tensor& gamma, const torch::Tensor& beta, double eps);

// sum = residual + dropout(x); norm = layer_norm(sum). A post-norm block continues with `norm`; a pre-norm block keeps
// `sum` as its residual and passes `norm` to the next sub-layer.
struct AddNorm {
  torch::Tensor sum;
  torch::Tensor norm;
};
AddNorm add_layer_norm(const torch::Tensor& x, const torch::Tensor& residual, const torch::Tensor& gamma,
                       const torch::Tensor& beta, double eps, Dropout dropout);

// dropout(table[ids] * scale + positions[t]): [M, H] in the type of the table's working form. `positions_TH`: a row for
// each position in a sentence; undefined: none, and then the layout is not read. The table's gradient is accumulated in
// its fp32 master; positions get one if they require it.
torch::Tensor embed(const Sequences& tokens, const Weight& table_VH, double scale, const torch::Tensor& positions_TH,
                    Dropout dropout);

// Label-smoothed cross-entropy of p = softmax(hidden Wᵀ + b), with the output table W: loss = (1 - ε) (-log p(y)) + ε /
// V Σ_v (-log p(v)) (Szegedy et al. 2016, as PyTorch's cross_entropy), summed over rows. The fast path computes logits
// block by block and stores none.
struct CrossEntropy {
  torch::Tensor loss;         // scalar, fp32, differentiable: the smoothed loss, summed
  torch::Tensor nll_M;        // fp32: -log p(y) of each row, not differentiable
  torch::Tensor num_correct;  // scalar, int64: rows where no logit exceeds the label's

  torch::Tensor nll() const { return nll_M.sum(); }
};
CrossEntropy cross_entropy(const torch::Tensor& hidden_MH, const Weight& output_VH, const torch::Tensor& bias_V,
                           const torch::Tensor& labels_M, double label_smoothing);

// Half the sum of both Kullback-Leibler divergences between p = softmax(first Wᵀ + b) and q = softmax(second Wᵀ + b),
// summed over rows: Σ ½ (KL(p‖q) + KL(q‖p)) = Σ ½ (p - q) (log p - log q). A scalar, fp32, differentiable. The fast
// path stores no logits. Liang et al. 2021 (R-Drop, arXiv 2106.14448, eq. 2).
torch::Tensor symmetric_divergence(const torch::Tensor& first_MH, const torch::Tensor& second_MH,
                                   const Weight& output_VH, const torch::Tensor& bias_V);

// The K largest of log_softmax(logits) for each row, best first, ties by the smaller id; K = min(k, V); R rows. If a
// row's normaliser is not finite, all its values are -infinity.
struct TopLogProbs {
  std::int64_t k = 0;
  std::vector<float> values;      // R * K
  std::vector<std::int64_t> ids;  // R * K
};
TopLogProbs top_log_probs(const torch::Tensor& logits_RV, std::int64_t k);

// Nearly the orthogonal factor U Vᵀ of each matrix U S Vᵀ of a batch, fp32 [B, R, C], by five Newton-Schulz iterations
// of
//
//   X = X / ‖X‖, transposed if it is tall;   five times:  A = X Xᵀ,  X = a X + (b A + c A²) X
//   a = 3.4445,  b = -4.7750,  c = 2.0315
//
// which leave U and V as they are and map each singular value s of X / ‖X‖ to a s + b s³ + c s⁵. Singular values above
// 0.002 become 0.68 to 1.21, smaller ones up to 485 times as large (Jordan et al. 2024, "Muon"). Not differentiable.
// The fast path multiplies in bf16 if the processor does.
//
//   (3 0; 0 1):  X = (0.95 0; 0 0.32), then (0.75 0; 0 0.95), and at last (0.75 0; 0 1.13)
struct NewtonSchulz {
  static constexpr double a = 3.4445, b = -4.7750, c = 2.0315;
  static constexpr int iterations = 5;
};
torch::Tensor orthogonal_factors(const torch::Tensor& matrices_BRC);

// Conversion between the ragged layout and a block padded with zeros: [M, ...] <-> [B, T, ...].
torch::Tensor pad(const torch::Tensor& ragged, const Layout& layout);
torch::Tensor unpad(const torch::Tensor& padded, const Layout& layout);

// An int64 tensor on the device of `like`.
inline torch::Tensor to_tensor(std::span<const std::int64_t> numbers, const torch::Tensor& like) {
  return copy_to(at::tensor(at::ArrayRef<std::int64_t>(numbers.data(), numbers.size()), at::kLong), like.device());
}

// All numbers of a tensor, row by row.
inline std::vector<double> to_doubles(const torch::Tensor& x) {
  const torch::Tensor numbers = x.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* first = numbers.const_data_ptr<double>();
  return {first, first + numbers.numel()};
}

// table_NC[h][column] for every head h: columns [T, S], or [B, 1, T, S] for several sentences, give [N, T, S] or
// [B, N, T, S]. By embedding, whose gradient is summed in a fixed order; that of indexing is not.
inline torch::Tensor numbers_of_heads(const torch::Tensor& table_NC, const torch::Tensor& columns_TS) {
  const torch::Tensor columns_1TS = columns_TS.dim() == 2 ? columns_TS.unsqueeze(0) : columns_TS;
  return at::embedding(table_NC.t(), columns_1TS).transpose(-1, -4).squeeze(-1);
}

// Softmax over the elements of the last dimension that are not missing; the others, perhaps all, are 0.
inline torch::Tensor masked_softmax(const torch::Tensor& scores, const torch::Tensor& missing) {
  return at::softmax(scores.masked_fill(missing, std::numeric_limits<float>::lowest()), -1).masked_fill(missing, 0);
}

}  // namespace attend::ops
