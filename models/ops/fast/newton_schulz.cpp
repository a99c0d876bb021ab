// The fast path of orthogonal_factors. Of matrices [R, C] that are at least twice as wide as high it iterates the small
// Gram matrices A = X Xᵀ [R, R] alone:
//
//   P = a + b A + c A²,  Q = P Q,  A = P A P,   and in the end  X = Q X
//
// which equals the plain formulation but for rounding: 35 instead of 45 products of R³ multiplications for C = 4 R. The
// errors of A grow with each iteration, in bf16 from the third on beyond any bound, so X and A are computed anew after
// two (Amsel et al. 2025, "Polar Express", arXiv 2505.16932, appendix).
#include <ATen/ATen.h>

#include "models/ops/dispatch.hpp"
#include "models/ops/paths.hpp"

namespace attend::ops::fast {

using torch::Tensor;

Tensor newton_schulz(const Tensor& wide_BRC) {
  using Form = NewtonSchulz;
  constexpr int kTogether = 2;
  Tensor x = has_native_bf16() ? wide_BRC.to(at::kBFloat16) : wide_BRC;
  if (x.size(2) < 2 * x.size(1)) return plain::newton_schulz(x).to(at::kFloat);
  Tensor gram, factor;
  for (int i = 0; i < Form::iterations; ++i) {
    const bool begins = i % kTogether == 0, ends = (i + 1) % kTogether == 0 || i + 1 == Form::iterations;
    if (begins) gram = at::bmm(x, x.mT());
    Tensor p = at::baddbmm(gram, gram, gram, Form::b, Form::c);
    p.diagonal(0, 1, 2).add_(Form::a);
    factor = begins ? p : at::bmm(p, factor);
    if (ends) {
      x = at::bmm(factor, x);
    } else {
      gram = at::bmm(at::bmm(p, gram), p);
    }
  }
  return x.to(at::kFloat);
}

}  // namespace attend::ops::fast
