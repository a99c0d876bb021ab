// The loops of pointwise.hpp; see levels.hpp.
namespace attend::ops::kernels::ATTEND_LEVEL {

// exp(-x² / 2), used by the normal density and its cumulative distribution.
ATTEND_INLINE Floats bell(Floats x) { return exp(-0.5f * x * x); }

// The normal cumulative distribution; erf by Abramowitz and Stegun 7.1.26, error below 1.5e-7.
ATTEND_INLINE Floats normal_cdf(Floats x, Floats bell_of_x) {
  const Floats z = (x < 0 ? -x : x) * 0.70710678f;
  const Floats t = 1.0f / (1.0f + 0.3275911f * z);
  const Floats tail = ((((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f) * t + 0.254829592f) *
                      t * bell_of_x * 0.5f;
  return x < 0 ? tail : 1.0f - tail;
}

constexpr float kTanhScale = 0.79788456f;  // sqrt(2 / pi)
constexpr float kTanhCubic = 0.044715f;

template <Activation kind>
ATTEND_INLINE Floats activate(Floats x) {
  if constexpr (kind == Activation::relu) return max(Floats{}, x);
  if constexpr (kind == Activation::tanh) return tanh(x);
  if constexpr (kind == Activation::gelu) return x * normal_cdf(x, bell(x));
  if constexpr (kind == Activation::gelu_tanh) {
    return 0.5f * x * (1.0f + tanh(kTanhScale * x * (1.0f + kTanhCubic * x * x)));
  }
  if constexpr (kind == Activation::swish) return x * sigmoid(x);
  return x;
}

// The derivative, given PointwiseBackward's `saved`.
template <Activation kind>
ATTEND_INLINE Floats slope(Floats saved) {
  if constexpr (kind == Activation::relu) return select(saved > 0, all(1), Floats{});
  if constexpr (kind == Activation::tanh) return 1.0f - saved * saved;
  if constexpr (kind == Activation::gelu) {
    const Floats b = bell(saved);
    return normal_cdf(saved, b) + saved * 0.39894228f * b;
  }
  if constexpr (kind == Activation::gelu_tanh) {
    const Floats t = tanh(kTanhScale * saved * (1.0f + kTanhCubic * saved * saved));
    return 0.5f * (1.0f + t) + 0.5f * saved * (1.0f - t * t) * kTanhScale * (1.0f + 3.0f * kTanhCubic * saved * saved);
  }
  if constexpr (kind == Activation::swish) {
    const Floats s = sigmoid(saved);
    return s * (1.0f + saved * (1.0f - s));
  }
  return all(1);
}

template <Activation kind, class T>
ATTEND_INLINE void forward_range(const Pointwise<T>& a, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; i += kLanes) {
    Floats y = activate<kind>(load(a.x + i, end - i));
    if (a.mask.drops()) y *= keep(a.mask, static_cast<std::uint32_t>(i));
    store(a.y + i, y, end - i);
  }
}

template <Activation kind, class T>
ATTEND_INLINE void backward_rows(const PointwiseBackward<T>& a, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    for (std::int64_t c = 0; c < a.width; c += kLanes) {
      const std::int64_t i = row * a.width + c, n = a.width - c;
      const Floats saved = kind == Activation::none ? Floats{} : load(a.saved + i, n);
      Floats dx = load(a.dy + i, n);
      if (kind != Activation::none) dx *= slope<kind>(saved);
      if (a.y) store(a.y + i, activate<kind>(saved), n);
      if (a.dx) store(a.dx + i, dx, n);
      if (a.column_sums) store(a.column_sums + c, load(a.column_sums + c, n) + dx, n);
    }
  }
}

template <Activation kind, class T>
ATTEND_INLINE void gated_rows(const Gated<T>& a, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const T* x = a.x + 2 * row * a.width;
    T* dx = a.result + 2 * row * a.width;
    for (std::int64_t c = 0; c < a.width; c += kLanes) {
      const std::int64_t i = row * a.width + c, n = a.width - c;
      const Floats inner = load(x + c, n), gate = load(x + a.width + c, n), active = activate<kind>(inner);
      if (a.dy) {
        const Floats dy = load(a.dy + i, n), saved = kind == Activation::tanh ? active : inner;
        store(dx + c, dy * gate * slope<kind>(saved), n);
        store(dx + a.width + c, dy * active, n);
      } else {
        store(a.result + i, active * gate, n);
      }
    }
  }
}

// Calls f with the activation as a constant.
template <class F>
ATTEND_INLINE void with_activation(Activation activation, const F& f) {
  switch (activation) {
    case Activation::none: return f(std::integral_constant<Activation, Activation::none>());
    case Activation::relu: return f(std::integral_constant<Activation, Activation::relu>());
    case Activation::gelu: return f(std::integral_constant<Activation, Activation::gelu>());
    case Activation::gelu_tanh: return f(std::integral_constant<Activation, Activation::gelu_tanh>());
    case Activation::tanh: return f(std::integral_constant<Activation, Activation::tanh>());
    case Activation::swish: return f(std::integral_constant<Activation, Activation::swish>());
  }
}

template <class T>
void forward(const Pointwise<T>& a, std::int64_t begin, std::int64_t end) {
  with_activation(
      a.activation, [&](auto kind) __attribute__((always_inline)) { forward_range<kind>(a, begin, end); });
}

template <class T>
void backward(const PointwiseBackward<T>& a, std::int64_t begin, std::int64_t end) {
  with_activation(
      a.activation, [&](auto kind) __attribute__((always_inline)) { backward_rows<kind>(a, begin, end); });
}

template <class T>
void gate(const Gated<T>& a, std::int64_t begin, std::int64_t end) {
  with_activation(
      a.activation, [&](auto kind) __attribute__((always_inline)) { gated_rows<kind>(a, begin, end); });
}

}  // namespace attend::ops::kernels::ATTEND_LEVEL
