// Rotary positions (Su et al. 2021, arXiv 2104.09864, eq. 34): in the queries and keys of position t, columns 2p and
// 2p + 1 of a head, read as a complex number, are multiplied by exp(i t θ_p), θ_p = 10000^(-2p / D). This preserves
// norms, and the positions enter the product of a query and a key only by their distance. Values are not turned.
//
//   D = 2, θ_0 = 1:  (1 0) at position 1 becomes (cos 1, sin 1) = (0.54 0.84)
//
// Legend: docs/architecture.md; P = D / 2 pairs of columns; X of the parts q, k and v.
#pragma once

#include <ATen/ATen.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>

#include "models/layers/layers.hpp"
#include "models/layers/row_table.hpp"
#include "models/ops/attention.hpp"

namespace attend {

class Rotary {
 public:
  // `width`: D, even.
  Rotary(torch::nn::Module& module, std::int64_t width)
      : factors_(module.register_module("turns", RowTable([width](std::int64_t first, std::int64_t length) {
                                          const torch::Tensor pairs_TP2 =  // sine, cosine
                                              sinusoids(first, length, width).unflatten(1, {-1, 2});
                                          const torch::Tensor turns_TP =
                                              at::complex(pairs_TP2.select(2, 1), pairs_TP2.select(2, 0));
                                          return at::stack({turns_TP, turns_TP, at::ones_like(turns_TP)}, 1);
                                        }))) {}

  // The factors of `length` positions from `first`, for the pairs of q | k | v of every head: [length, 3, P], complex.
  torch::Tensor factors(std::int64_t first, std::int64_t length) const {
    return factors_->rows(first, length);
  }

  // Turns the queries and keys, in fp32. The factors are those of each row's position, or [1, 3, P] for all rows.
  ops::QueriesKeysValues turned(const ops::QueriesKeysValues& rows, const torch::Tensor& of_queries_M3P,
                                const torch::Tensor& of_keys_M3P) const {
    if (!rows.second.defined()) return {.first = turned(rows.first, of_queries_M3P)};
    return {.first = turned(rows.first, of_queries_M3P.narrow(1, 0, 1)),
            .second = turned(rows.second, of_keys_M3P.narrow(1, 1, rows.third.defined() ? 1 : 2)),
            .third = rows.third};
  }

 private:
  // Turns all X parts in one product; separate products would copy them and join their gradients.
  static torch::Tensor turned(const torch::Tensor& x_MC, const torch::Tensor& factors_MXP) {
    const torch::Tensor pairs_MXNP =
        at::view_as_complex(x_MC.to(at::kFloat).unflatten(1, {factors_MXP.size(1), -1, factors_MXP.size(2), 2}));
    return at::view_as_real(pairs_MXNP * factors_MXP.unsqueeze(2)).flatten(1).to(x_MC.scalar_type());
  }

  RowTable factors_;
};

}  // namespace attend
