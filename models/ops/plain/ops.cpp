// The plain formulations of the ops of ops.hpp.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/ops/paths.hpp"

namespace attend::ops::plain {

using torch::Tensor;

namespace {

// The mask of elementwise.hpp in 64-bit integers, since ATen lacks unsigned 32-bit arithmetic.
Tensor dropout_mask(at::IntArrayRef sizes, Dropout dropout, const Tensor& like) {
  const DropoutMask mask(dropout);
  const auto low_32 = [](const Tensor& x) { return x.bitwise_and(0xffffffffLL); };
  const auto number = [](std::uint32_t x) { return at::Scalar(static_cast<std::int64_t>(x)); };
  const auto options = like.options().dtype(at::kLong).requires_grad(false);
  Tensor x =
      low_32(at::arange(c10::multiply_integers(sizes), options) * number(DropoutMask::kStride) + number(mask.low));
  x = low_32(x.bitwise_xor(x.bitwise_right_shift(16)) * number(DropoutMask::kFirst));
  x = low_32((x.bitwise_xor(x.bitwise_right_shift(15)) + number(mask.high)) * number(DropoutMask::kSecond));
  x = x.bitwise_xor(x.bitwise_right_shift(16));
  return (x.ge(number(mask.threshold)).to(at::kFloat) * mask.scale).view(sizes);
}

}  // namespace

Tensor activated(const Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::none: return x;
    case Activation::relu: return at::relu(x);
    case Activation::gelu: return at::gelu(x);
    case Activation::gelu_tanh: return at::gelu(x, "tanh");
    case Activation::tanh: return at::tanh(x);
    case Activation::swish: return at::silu(x);
  }
  return {};
}

Tensor dropout(const Tensor& x, Dropout dropout) {
  if (dropout.rate == 0) return x;
  return (x.to(at::kFloat) * dropout_mask(x.sizes(), dropout, x)).to(x.scalar_type());
}

Tensor linear(const Tensor& x, const Weight& weight, const Tensor& bias, Activation activation) {
  const auto type = x.scalar_type();
  return activated(at::linear(x, weight.master().to(type), bias.defined() ? bias.to(type) : bias), activation);
}

Tensor gated(const Tensor& x, Activation activation) {
  const auto halves = x.chunk(2, 1);
  return activated(halves[0], activation) * halves[1];
}

Tensor logits(const Tensor& x, const Weight& weight, const Tensor& bias) {
  return at::linear(x.to(at::kFloat), weight.master().to(x.scalar_type()).to(at::kFloat), bias);
}

Tensor additive_energies(const Tensor& queries_TA, const Tensor& keys_SA, const Tensor& energy_NA) {
  const Tensor inner_TSA = at::tanh(queries_TA.unsqueeze(-2) + keys_SA.unsqueeze(-3));
  const bool one = energy_NA.size(0) == 1;
  return at::matmul(inner_TSA, one ? energy_NA.t() : energy_NA.unsqueeze(1).unsqueeze(3)).squeeze(-1);
}

Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps) {
  const Tensor wide = x.to(at::kFloat);
  const Tensor y = beta.defined() ? at::layer_norm(wide, {x.size(-1)}, gamma, beta, eps)
                                  : wide * at::rsqrt(wide.square().mean(-1, /*keepdim=*/true) + eps) * gamma;
  return y.to(x.scalar_type());
}

AddNorm add_layer_norm(const Tensor& x, const Tensor& residual, const Tensor& gamma, const Tensor& beta, double eps,
                       Dropout dropout) {
  const Tensor sum = residual + plain::dropout(x, dropout);
  return {sum, plain::layer_norm(sum, gamma, beta, eps)};
}

Tensor embed(const Sequences& tokens, const Weight& table_VH, double scale, const Tensor& positions_TH,
             Dropout dropout) {
  Tensor x = at::embedding(table_VH.master(), tokens.ids_M) * scale;
  if (positions_TH.defined()) x = x + positions_TH.index_select(0, tokens.layout.on(x.device()).places_M);
  return plain::dropout(x.to(table_VH.working().scalar_type()), dropout);
}

CrossEntropy cross_entropy(const Tensor& hidden_MH, const Weight& output_VH, const Tensor& bias_V,
                           const Tensor& labels_M, double label_smoothing) {
  const Tensor logits = plain::logits(hidden_MH, output_VH, bias_V);
  const Tensor log_p = at::log_softmax(logits, -1);
  const Tensor nll_M = -log_p.gather(1, labels_M.unsqueeze(1)).squeeze(1);
  const Tensor uniform = -log_p.mean(-1).sum();
  return {.loss = (1 - label_smoothing) * nll_M.sum() + label_smoothing * uniform,
          .nll_M = nll_M.detach(),
          .num_correct = logits.gather(1, labels_M.unsqueeze(1)).squeeze(1).eq(logits.amax(-1)).sum()};
}

Tensor symmetric_divergence(const Tensor& first_MH, const Tensor& second_MH, const Weight& output_VH,
                            const Tensor& bias_V) {
  const Tensor log_p = at::log_softmax(plain::logits(first_MH, output_VH, bias_V), -1);
  const Tensor log_q = at::log_softmax(plain::logits(second_MH, output_VH, bias_V), -1);
  return ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum() / 2;
}

// The plain formulation of top_log_probs: topk on the device; the host orders ties by id.

namespace {

// Candidates beyond the k best, to resolve ties at the k-th place.
constexpr std::int64_t kSpare = 8;

}  // namespace

TopLogProbs top_log_probs(const Tensor& logits_RV, std::int64_t k) {
  const std::int64_t rows = logits_RV.size(0), vocabulary = logits_RV.size(1);
  const std::int64_t taken = std::min(k + kSpare, vocabulary);
  const Tensor log_probs_RV = at::log_softmax(logits_RV, -1);
  const auto [top, top_ids] = log_probs_RV.topk(taken);
  const Tensor values_RK = top.cpu(), ids_RK = top_ids.cpu();
  TopLogProbs best{.k = k, .values = {}, .ids = {}};
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* values = values_RK.const_data_ptr<float>() + r * taken;
    const std::int64_t* ids = ids_RK.const_data_ptr<std::int64_t>() + r * taken;
    std::vector<Candidate> scored;
    for (std::int64_t j = 0; j < taken; ++j) scored.push_back({values[j], ids[j]});
    if (!std::isfinite(values[0])) {  // NaN counts as the largest
      scored.assign(taken, {-std::numeric_limits<float>::infinity(), 0});
    } else if (taken < vocabulary && values[k - 1] == values[taken - 1] && std::isfinite(values[k - 1])) {
      // More candidates than those taken may be equal.
      const Tensor tied = log_probs_RV[r].ge(values[k - 1]).nonzero().flatten().cpu();
      const Tensor tied_values = log_probs_RV[r].cpu().index_select(0, tied);
      scored.clear();
      for (std::int64_t j = 0; j < tied.numel(); ++j) {
        scored.push_back({tied_values.const_data_ptr<float>()[j], tied.const_data_ptr<std::int64_t>()[j]});
      }
    }
    std::ranges::sort(scored, &Candidate::is_better_than);
    for (std::int64_t j = 0; j < k; ++j) {
      best.values.push_back(scored[j].value);
      best.ids.push_back(scored[j].id);
    }
  }
  return best;
}

Tensor newton_schulz(const Tensor& wide_BRC) {
  using Step = NewtonSchulz;
  Tensor x = wide_BRC;
  for (int i = 0; i < Step::iterations; ++i) {
    const Tensor gram = at::bmm(x, x.mT());
    x = at::baddbmm(x, at::baddbmm(gram, gram, gram, Step::b, Step::c), x, Step::a);
  }
  return x;
}

}  // namespace attend::ops::plain
