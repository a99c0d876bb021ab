// The feed-forward network of a block (arXiv 1706.03762, eq. 2): W2 dropout(activation(W1 x + b1)) + b2.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "core/options.hpp"
#include "models/layers/layers.hpp"

namespace attend {

// The activation of the inner layer; the last two are gated (Shazeer 2020, arXiv 2002.05202).
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
// Its function, without the gate.
constexpr ops::Activation function_of(FeedForwardKind kind) {
  switch (kind) {
    case FeedForwardKind::relu:
      return ops::Activation::relu;
    case FeedForwardKind::gelu:
    case FeedForwardKind::geglu:
      return ops::Activation::gelu;
    case FeedForwardKind::gelu_tanh:
      return ops::Activation::gelu_tanh;
    case FeedForwardKind::swish:
    case FeedForwardKind::swiglu:
      return ops::Activation::swish;
  }
  return ops::Activation::none;
}

struct FeedForwardConfig {
  std::int64_t width = 0;  // H
  std::int64_t inner = 0;  // F
  FeedForwardKind activation = FeedForwardKind::relu;
  double deviation = 0;  // standard deviation of initial weights; 0: Xavier's rule
  double dropout = 0;
};

// Its maps are modules of the block, linear1 and linear2, as PyTorch names them.
class FeedForward {
 public:
  FeedForward(torch::nn::Module& block, const FeedForwardConfig& config)
      : config_(config),
        linear1_(map(block, "linear1", config.width, config.inner)),
        linear2_(map(block, "linear2", config.inner, config.width)) {}

  torch::Tensor forward(const torch::Tensor& x_MH, Pass& pass) const {
    return ops::feed_forward(x_MH, {linear1_->weight, linear1_->bias}, function_of(config_.activation),
                             pass.dropout(config_.dropout), {linear2_->weight, linear2_->bias});
  }

 private:
  Linear map(torch::nn::Module& block, const char* name, std::int64_t in, std::int64_t out) const {
    return block.register_module(name, Linear(LinearConfig{.in = in, .out = out, .deviation = config_.deviation}));
  }

  FeedForwardConfig config_;
  Linear linear1_;
  Linear linear2_;
};

}  // namespace attend
