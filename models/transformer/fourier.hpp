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
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <numbers>

#include "data/batch/batch.hpp"
#include "models/ops/ops.hpp"

namespace attend {

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
