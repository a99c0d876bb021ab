// The norms of a Transformer: layer norm, RMS norm and batch norm, each with a learnt scale per column, and the
// residual sum before them.
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>

#include "core/options.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/pass.hpp"

namespace attend {

enum class NormKind { layer, rms, batch };
template <>
inline constexpr auto kEnumNames<NormKind> =
    std::to_array<EnumName<NormKind>>({{NormKind::layer, "layer"}, {NormKind::rms, "rms"}, {NormKind::batch, "batch"}});

// Where a block has its norms.
enum class NormPlace { post, pre, none };
template <>
inline constexpr auto kEnumNames<NormPlace> =
    std::to_array<EnumName<NormPlace>>({{NormPlace::post, "post"}, {NormPlace::pre, "pre"}, {NormPlace::none, "none"}});

// A norm of any kind. Results are [M, H] in the type of x.
class NormImpl : public Layer {
 public:
  virtual torch::Tensor forward(const torch::Tensor& x_MH, const Pass& pass) const = 0;

  // sum = residual + dropout(x), norm = norm(sum).
  virtual ops::AddNorm forward(const torch::Tensor& x_MH, const torch::Tensor& residual_MH, ops::Dropout dropout,
                               const Pass& pass) const {
    const torch::Tensor sum_MH = residual_MH + ops::dropout(x_MH, dropout);
    return {.sum = sum_MH, .norm = forward(sum_MH, pass)};
  }

  void initialise(RandomStream& random) override;

  torch::Tensor weight;
  torch::Tensor bias;  // undefined in RMS norm

 protected:
  NormImpl(std::int64_t width, bool with_bias);
};
using Norm = std::shared_ptr<NormImpl>;

Norm make_norm(NormKind kind, std::int64_t width, double eps);

// Layer norm (Ba et al. 2016, arXiv 1607.06450), or, if not centred, RMS norm (Zhang and Sennrich 2019, arXiv
// 1910.07467), which has neither mean nor bias (ops::layer_norm).
class LayerNormImpl : public NormImpl {
 public:
  LayerNormImpl(std::int64_t width, double eps, bool centred = true) : NormImpl(width, centred), eps_(eps) {}

  torch::Tensor forward(const torch::Tensor& x) const { return ops::layer_norm(x, weight, bias, eps_); }
  torch::Tensor forward(const torch::Tensor& x, const Pass& /*pass*/) const override { return forward(x); }
  ops::AddNorm forward(const torch::Tensor& x, const torch::Tensor& residual, ops::Dropout dropout,
                       const Pass& /*pass*/) const override {
    return ops::add_layer_norm(x, residual, weight, bias, eps_, dropout);
  }

 private:
  double eps_;
};
TORCH_MODULE(LayerNorm);

// Batch norm over tokens (Ioffe and Szegedy 2015, arXiv 1502.03167; in Transformers: Shen et al. 2020, arXiv
// 2003.07845): (x - mean) / sqrt(var + eps) * weight + bias for each column. In training, mean and variance are those
// of the rows: all tokens of the batch, or only the selected ones, as in the last layer of BERT. Otherwise they are the
// running statistics, which every training batch moves by a tenth of the difference (with the unbiased variance, as in
// torch.nn.BatchNorm1d). A frozen norm uses its running statistics in training, too; so does any norm for a single row,
// which has no variance.
//
//   a column 1, 3: mean 2, var 1, normalised -1, 1; the running mean 0 becomes 0.2, the running variance 1 becomes 1.1
class BatchNormImpl : public NormImpl {
 public:
  BatchNormImpl(std::int64_t width, double eps);

  using NormImpl::forward;
  torch::Tensor forward(const torch::Tensor& x_MH, const Pass& pass) const override;
  void initialise(RandomStream& random) override;

  torch::Tensor running_mean;
  torch::Tensor running_var;

 private:
  double eps_;
};

}  // namespace attend
