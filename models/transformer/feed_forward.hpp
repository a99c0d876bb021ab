// The feed-forward network of a block (arXiv 1706.03762, eq. 2):
//
//   plain:  W2 dropout(activation(W1 x + b1)) + b2
//   gated:  W2 dropout(activation(W x + b) ⊙ (V x + c)) + b2
//
// Gates are those of Shazeer 2020 (arXiv 2002.05202, eq. 6), who leaves out the biases. A gated network has three
// matrices instead of two, so its inner layer has 2/3 of the size, for about equal parameters; W and V are the halves
// of linear1, in this order.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "core/options.hpp"
#include "models/layers/layers.hpp"

namespace attend {

// The activation of the inner layer; the last two are gated.
enum class FeedForwardKind { relu, gelu, gelu_tanh, swish, geglu, swiglu };
template <>
inline constexpr auto kEnumNames<FeedForwardKind> = std::to_array<EnumName<FeedForwardKind>>({
    {FeedForwardKind::relu, "relu"},
    {FeedForwardKind::gelu, "gelu"},
    {FeedForwardKind::gelu_tanh, "gelu-tanh"},
    {FeedForwardKind::swish, "swish"},
    {FeedForwardKind::geglu, "geglu"},
    {FeedForwardKind::swiglu, "swiglu"},
});
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
constexpr bool is_gated(FeedForwardKind kind) {
  return kind == FeedForwardKind::geglu || kind == FeedForwardKind::swiglu;
}

struct FeedForwardConfig {
  std::int64_t width = 0;  // H
  std::int64_t inner = 0;  // F of a plain network; a gated one has 2/3 of it
  FeedForwardKind activation = FeedForwardKind::relu;
  double deviation = 0;     // standard deviation of initial weights; 0: Xavier's rule
  double output_scale = 1;  // factor of that of linear2
  double dropout = 0;
};

// Its maps are modules of the block, linear1 and linear2, as in PyTorch. With an inner size of 0 it has none and
// converts to false.
class FeedForward {
 public:
  FeedForward(torch::nn::Module& block, const FeedForwardConfig& config)
      : config_(config),
        linear1_(map(block, "linear1", {.in = config.width, .out = maps() * inner(), .fused = maps()})),
        linear2_(map(block, "linear2", {.in = inner(), .out = config.width, .gain = config.output_scale})) {}

  explicit operator bool() const { return config_.inner > 0; }

  torch::Tensor forward(const torch::Tensor& x_MH, Pass& pass) const {
    const ops::Activation function = function_of(config_.activation);
    const ops::Dropout dropout = pass.dropout(config_.dropout);
    if (is_gated(config_.activation)) {
      return linear2_->forward(ops::gated(linear1_->forward(x_MH), function, dropout));
    }
    return ops::feed_forward(x_MH, {linear1_->weight, linear1_->bias}, function, dropout,
                             {linear2_->weight, linear2_->bias});
  }

 private:
  std::int64_t maps() const { return is_gated(config_.activation) ? 2 : 1; }  // in linear1
  std::int64_t inner() const { return is_gated(config_.activation) ? (2 * config_.inner + 1) / 3 : config_.inner; }
  Linear map(torch::nn::Module& block, const char* name, LinearConfig form) const {
    if (config_.inner == 0) return nullptr;
    form.deviation = form.gain * config_.deviation;
    return block.register_module(name, Linear(form));
  }

  FeedForwardConfig config_;
  Linear linear1_;
  Linear linear2_;
};

}  // namespace attend
