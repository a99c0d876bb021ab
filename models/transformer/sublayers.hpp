// The sub-layers of a block that are not attention: the feed-forward network, and FNet's mixing of tokens.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <numbers>

#include "data/batch/batch.hpp"
#include "models/attention/block_options.hpp"
#include "models/layers/layers.hpp"
#include "models/ops/ops.hpp"
#include "models/transformer/stack_options.hpp"

namespace attend {

// The feed-forward network of a block (arXiv 1706.03762, eq. 2):
//
//   plain:  W2 dropout(activation(W1 x + b1)) + b2
//   gated:  W2 dropout(activation(W x + b) ⊙ (V x + c)) + b2
//
// Gates are those of Shazeer 2020 (arXiv 2002.05202, eq. 6), who leaves out the biases. A gated network has three
// matrices instead of two, so its inner layer has 2/3 of the size, for about equal parameters; W and V are the halves
// of linear1, in this order.

// The activation without the gate.
constexpr ops::Activation function_of(FeedForwardKind kind) {
  switch (kind) {
    case FeedForwardKind::relu: return ops::Activation::relu;
    case FeedForwardKind::gelu:
    case FeedForwardKind::geglu: return ops::Activation::gelu;
    case FeedForwardKind::gelu_tanh: return ops::Activation::gelu_tanh;
    case FeedForwardKind::swish:
    case FeedForwardKind::swiglu: return ops::Activation::swish;
  }
  return ops::Activation::none;
}

// Its maps are modules of the block, linear1 and linear2, as in PyTorch. With an inner size of 0 it has none and
// converts to false.
class FeedForward {
 public:
  FeedForward() = default;
  // `output_scale`: factor of the deviation of linear2.
  FeedForward(torch::nn::Module& block, const StackOptions& options, double output_scale = 1)
      : options_(options.block) {
    if (options_.feed_forward == 0) return;
    const std::int64_t width = *options.width, maps = is_gated(options_.activation) ? 2 : 1;
    const std::int64_t inner = maps == 2 ? (2 * *options_.feed_forward + 1) / 3 : *options_.feed_forward;
    const auto map = [&](const char* name, LinearConfig form) {
      form.deviation = form.gain * options.deviation();
      return block.register_module(name, Linear(form));
    };
    linear1_ = map("linear1", {.in = width, .out = maps * inner, .fused = maps});
    linear2_ = map("linear2", {.in = inner, .out = width, .gain = output_scale});
  }

  explicit operator bool() const { return !linear1_.is_empty(); }

  torch::Tensor forward(const torch::Tensor& x_MH, Pass& pass) const {
    const ops::Activation function = function_of(options_.activation);
    pass.dropout(0);  // takes a key, or the masks that follow would not be those of earlier versions
    if (is_gated(options_.activation)) return linear2_->forward(ops::gated(linear1_->forward(x_MH), function));
    return ops::feed_forward(x_MH, {linear1_->weight, linear1_->bias}, function, {linear2_->weight, linear2_->bias});
  }

 private:
  BlockOptions options_;
  Linear linear1_ = nullptr;
  Linear linear2_ = nullptr;
};

// Mixing of tokens by a Fourier transform in place of self-attention (FNet, Lee-Thorp et al. 2021, arXiv 2105.03824,
// eq. 3), without parameters, for encoders:
//
//   y = Re(F_seq F_hidden x) = C_n x C_H - S_n x S_H,  C_n[t, s] = cos(2π t s / n), S_n[t, s] = sin(2π t s / n)
//
// where n is the length of each sentence, so that a sentence does not depend on its batch. Computed by matrix products,
// not by a fast transform: sentences are short and of any length.
//
//   n = 2, H = 1:  x = (3 5) gives (3 + 5, 3 - 5)
//
// Legend: docs/architecture.md; K selected tokens, Q queries of a sentence.
class Fourier {
 public:
  Fourier(torch::nn::Module& module, std::int64_t width) {
    const torch::Tensor numbers_H = torch::arange(width);
    const torch::Tensor angles_HH = angles(numbers_H.unsqueeze(1), numbers_H, torch::full({1}, width, torch::kLong));
    cos_HH_ = module.register_buffer("fourier_cos", angles_HH.cos());
    sin_HH_ = module.register_buffer("fourier_sin", angles_HH.sin());
  }

  // y in the type of x, [M, H], or only for the selected tokens, [K, H].
  torch::Tensor within(const torch::Tensor& x_MH, const Layout& layout, const Selection* selected) const {
    const LayoutTensors& on = layout.on(x_MH.device());
    const Layout& queries = selected != nullptr ? selected->layout : layout;
    const torch::Tensor places_M = selected != nullptr ? selected->of(on.places_M) : on.places_M;
    const torch::Tensor keys_T = torch::arange(layout.max_length, on.places_M.options());
    const torch::Tensor lengths_B11 = on.lengths_B.clamp_min(1).view({-1, 1, 1});
    const torch::Tensor angles_BQT = angles(ops::pad(places_M, queries).unsqueeze(2), keys_T, lengths_B11);
    // Padding adds nothing: its rows of x are 0.
    const auto hidden_BTH = [&](const torch::Tensor& matrix_HH) {
      return ops::pad(x_MH.to(torch::kFloat).mm(matrix_HH), layout);
    };
    const torch::Tensor y_BQH = angles_BQT.cos().bmm(hidden_BTH(cos_HH_)) - angles_BQT.sin().bmm(hidden_BTH(sin_HH_));
    return ops::unpad(y_BQH, queries).to(x_MH.scalar_type());
  }

 private:
  // 2π t s / n, computed from the remainder of t s, so that large angles lose no precision.
  static torch::Tensor angles(const torch::Tensor& t, const torch::Tensor& s, const torch::Tensor& n) {
    return (t * s).remainder(n).to(torch::kFloat) * (2 * std::numbers::pi) / n;
  }

  torch::Tensor cos_HH_, sin_HH_;  // C_H, S_H
};

}  // namespace attend
